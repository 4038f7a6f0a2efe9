"""How fast training is: `python -m benchmarks.train [overhead] [probe]`.

overhead  the one-process runner against the bare training steps it makes, for the small CNN and
          the probe at Table 1's number of samples; the sides take turns, in processor time.
probe     one training of Table 1's shape on random embeddings: 10 clients, 200 rounds.
"""

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from scopefl.data.partition import dirichlet, long_tail
from scopefl.train.federated import run
from scopefl.train.learner import Examples, Learner
from scopefl.train.plan import Plan, Purpose
from scopefl.train.probe import Probe

GOAL = 1.15
FEATURES, CLASSES, CLIENTS, ROUNDS = 256, 10, 10, 200
REPEATS = 7


def cpu_seconds(call: Callable[[], Any]) -> float:
    """Give the processor time of one call."""
    start = time.process_time()
    call()
    return time.process_time() - start


def bare(learner: Learner, clients: list[Examples], plan: Plan) -> None:
    """Make the training steps of the runner, and nothing else."""
    weights = learner.start(plan.rng(Purpose.START))
    for number in range(1, plan.rounds + 1):
        for place, each in enumerate(clients):
            rng = plan.rng(Purpose.TRAIN, number, place)
            learner.train(weights, each, plan, plan.lr_at(number), rng)


def overhead(name: str, learner: Learner, clients: list[Examples], plan: Plan) -> None:
    """Print the ratio of the runner to the bare steps, evaluation of one sample included."""
    ratios = []
    bare(learner, clients, plan)
    for _ in range(REPEATS):
        steps = cpu_seconds(lambda: bare(learner, clients, plan))
        whole = cpu_seconds(lambda: run(learner, clients, clients[0][:1], plan))
        ratios.append(whole / steps)
    middle, low, high = np.median(ratios), min(ratios), max(ratios)
    print(f"{name:5} runner / bare steps: {middle:.3f} ({low:.3f} to {high:.3f}), goal {GOAL}")


def embeddings(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw n embeddings around a centre for each class."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, CLASSES, n)
    centres = rng.standard_normal((CLASSES, FEATURES), np.float32) / 4
    return centres[labels] + rng.standard_normal((n, FEATURES), np.float32) / 4, labels


def compare_overheads() -> None:
    """Measure both learners."""
    x, y = embeddings(20_000)
    shards = [Examples(x[i::CLIENTS], y[i::CLIENTS]) for i in range(CLIENTS)]
    overhead("probe", Probe(FEATURES, CLASSES), shards, Plan(5))
    from scopefl.train.torch_learner import TorchLearner

    images = np.random.default_rng(0).integers(0, 256, (400, 32, 32, 3), np.uint8)
    shards = [Examples(images[i::CLIENTS], y[:400][i::CLIENTS]) for i in range(CLIENTS)]
    overhead("cnn", TorchLearner("cnn", CLASSES), shards, Plan(1))


def probe_speed() -> None:
    """Time one training at each imbalance of Table 1, on all data (what methods keep is less)."""
    x, y = embeddings(50_000)
    test = Examples(x[:5_000], y[:5_000])
    for ratio in (2, 10):
        rng = np.random.default_rng(0)
        rows = long_tail(y, ratio, rng)
        parts = dirichlet(y[rows], CLIENTS, 0.1, rng, min_size=10).rows
        shards = [Examples(x[rows[part]], y[rows[part]]) for part in parts]
        for batch in (64, 256):
            plan = Plan(ROUNDS, batch_size=batch, lr=0.03)
            began = time.perf_counter()
            cpu = cpu_seconds(partial(run, Probe(FEATURES, CLASSES), shards, test, plan))
            print(
                f"probe, ratio {ratio:2}, {len(rows)} samples, {CLIENTS} clients, {ROUNDS} rounds, "
                f"batch {batch:3}: {time.perf_counter() - began:.1f} s ({cpu:.1f} s of processor)"
            )


def main() -> None:
    """Run what was asked for, or both."""
    parts = {"overhead": compare_overheads, "probe": probe_speed}
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help="overhead, probe")
    for name in parser.parse_args().parts or parts:
        parts[name]()


if __name__ == "__main__":
    main()
