"""What experiments cost: `python -m benchmarks.experiment [grid] [choosing]`.

grid      the probe experiment of Table 1's shape (10 clients, 200 rounds, 7 methods, 5 rates), one
          seed of its five on real embeddings of CIFAR-10, and what five seeds take at that pace.
choosing  a coreset without training (embed, score, agree, select) against FedCS whole, its 20
          warm-up epochs of a ResNet-18 included, on the same images in the same process.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from scopefl.experiment.perform import Workshop, choose
from scopefl.experiment.runner import run_spec
from scopefl.experiment.settings import Data, Division, Pruning, Training
from scopefl.experiment.spec import Run
from scopefl.experiment.spec_file import parse_spec

GRID = {
    "title": "grid",
    "seeds": 1,
    "data": {"name": "cifar10", "samples": 400, "test_samples": 200},
    "partition": {"imbalance_ratio": 10.0},
    "training": {"rounds": 200},
    "pruning": {
        "method": ["random", "el2n", "grand", "fedcs", "moderate", "scope", "budget"],
        "p_f": [0.1, 0.3, 0.5, 0.7, 0.9],
    },
}
SEEDS = 5
IMAGES_A_CLASS = 2


def grid() -> None:
    """Run one seed of the grid and print its time."""
    spec = parse_spec(GRID)
    workshop = Workshop()
    workshop.subject(spec.runs()[0])
    with tempfile.TemporaryDirectory() as folder:
        wall, processor = time.perf_counter(), time.process_time()
        progress = run_spec(spec, Path(folder), workshop)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{progress.done} runs of one seed: {wall:.0f} s, {processor:.0f} s of processor time")
    print(f"{SEEDS} seeds on one core at this pace: {SEEDS * processor / 60:.1f} min (goal: 10)")


def choosing() -> None:
    """Choose by both on the same images and print the ratio of their seconds."""
    run = Run(
        Data(name="cifar10", samples=IMAGES_A_CLASS, test_samples=2),
        Division(clients=2, alpha=10.0),
        Training(model="resnet18"),
        Pruning(),
        seed=0,
    )
    seconds = {}
    workshop = Workshop()
    for method in ("scope", "budget", "fedcs"):
        one = replace(run, pruning=Pruning(method=method))
        seconds[method] = choose(one, workshop).cost.seconds
        print(f"{method}: {seconds[method]:.2f} s for {10 * IMAGES_A_CLASS} images")
    for method in ("scope", "budget"):
        print(f"fedcs takes {seconds['fedcs'] / seconds[method]:.0f} times {method} (goal: 8)")


def main() -> None:
    """Run what is named, or both."""
    parts = {"grid": grid, "choosing": choosing}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=list(parts))
    for part in parser.parse_args().parts:
        parts[part]()


if __name__ == "__main__":
    main()
