"""What experiments cost: `python -m benchmarks.experiment [grid] [choosing]`.

grid      the probe experiment of Table 1's shape: 10 clients, 200 rounds, 7 methods, 5 rates and 5
          seeds on all of CIFAR-10 under a tail of IR 10. Its images are embedded once, before.
choosing  a coreset without training (embed, score, agree, select) against FedCS whole, its 20
          warm-up epochs of a ResNet-18 included, on the same images in the same process.
"""

import argparse
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from benchmarks.measure import machine, verdict
from scopefl.experiment.perform import Workshop, choose
from scopefl.experiment.runner import run_spec
from scopefl.experiment.settings import Data, Division, Pruning, Training
from scopefl.experiment.spec import Run
from scopefl.experiment.spec_file import parse_spec

GRID = {
    "title": "grid",
    "seeds": 5,
    "data": {"name": "cifar10"},
    "partition": {"imbalance_ratio": 10.0},
    "training": {"rounds": 200},
    "pruning": {
        "method": ["random", "el2n", "grand", "fedcs", "moderate", "scope", "budget"],
        "p_f": [0.1, 0.3, 0.5, 0.7, 0.9],
    },
}
IMAGES_A_CLASS = 2


def grid() -> None:
    """Run the grid and print its time."""
    spec = parse_spec(GRID)
    workshop = Workshop()
    workshop.collection(spec.runs()[0])
    with tempfile.TemporaryDirectory() as folder:
        wall, processor = time.perf_counter(), time.process_time()
        progress = run_spec(spec, Path(folder), workshop)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
    print(f"{progress.done} runs in one process took {wall / 60:.1f} min here; {machine()}")
    print(verdict("minutes of the grid on one free core", processor / 60, 10))


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
        times = seconds["fedcs"] / seconds[method]
        print(verdict(f"times that fedcs takes of {method}", times, 8, at_most=False))


def main() -> None:
    """Run what is named, or both."""
    parts = {"grid": grid, "choosing": choosing}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*parts, []], default=list(parts))
    for part in parser.parse_args().parts:
        parts[part]()


if __name__ == "__main__":
    main()
