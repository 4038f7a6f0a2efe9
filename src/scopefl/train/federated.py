"""FedAvg in one process: the same numbers bit for bit wherever and in whatever order clients train.

Every client's randomness depends on the seed, the round and its own number, and averaging adds
clients in the order of their numbers in float64; so only speed tells this runner from Flower's.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import check_labels
from scopefl.errors import ScopeError
from scopefl.train.checkpoint import Progress, digest_of, load, save
from scopefl.train.history import LAST, History, Round
from scopefl.train.learner import Examples, Learner, Weights
from scopefl.train.plan import Plan, Purpose

TrainClients = Callable[[Weights, int, Sequence[int]], Iterable[Weights]]
"""From global weights, a round and client numbers: each one's new weights, in that order."""
OnRound = Callable[[Round, Weights], None]


def run(
    learner: Learner,
    clients: Sequence[Examples],
    test: Examples,
    plan: Plan,
    *,
    on_round: OnRound | None = None,
    checkpoint: Path | None = None,
    save_every: int = 10,
    evaluate_every: int = 1,
) -> History:
    """Train on all clients and tell what came of it; the last 10 rounds are always evaluated.

    With `checkpoint` the training goes on where that file ends, to the same result.
    """

    def train_here(weights: Weights, number: int, chosen: Sequence[int]) -> Iterator[Weights]:
        for client in chosen:
            yield train_client(learner, weights, clients[client], plan, number, client)

    for examples in (*clients, test):
        check_labels(examples.y, len(examples), learner.n_classes)
    sizes = [len(each) for each in clients]

    def rounds_from(progress: Progress | None) -> Iterator[Progress]:
        return federate(learner, sizes, test, plan, train_here, progress, evaluate_every)

    data = digest_of([*clients, test]) if checkpoint else ""
    done = follow(rounds_from, plan, data, checkpoint, save_every, on_round)
    return history_of(done, test, learner.n_classes)


def follow(
    rounds_from: Callable[[Progress | None], Iterator[Progress]],
    plan: Plan,
    data: str,
    checkpoint: Path | None = None,
    save_every: int = 10,
    on_round: OnRound | None = None,
) -> Progress:
    """Give the last progress of a training that goes on from its checkpoint and keeps it."""
    progress = load(checkpoint, plan, data) if checkpoint else None
    rounds = rounds_from(progress)
    for progress in rounds:
        last = progress.rounds[-1]
        if checkpoint and (last.number % save_every == 0 or last.number == plan.rounds):
            save(checkpoint, progress, plan, data)
        if on_round:
            on_round(last, progress.weights)
    assert progress is not None
    return progress


def federate(
    learner: Learner,
    sizes: Sequence[int],
    test: Examples,
    plan: Plan,
    train_clients: TrainClients,
    progress: Progress | None = None,
    evaluate_every: int = 1,
) -> Iterator[Progress]:
    """Give the progress after each round, however `train_clients` reaches the clients."""
    if not len(test):
        raise ScopeError("the test set must hold at least one example, it is empty")
    if progress is None:
        progress = Progress((), learner.start(plan.rng(Purpose.START)), None)
    rounds, weights, predictions = progress
    for number in range(len(rounds) + 1, plan.rounds + 1):
        began = time.perf_counter()
        chosen = clients_of(sizes, plan, number)
        parts = train_clients(weights, number, chosen)
        weights = average(parts, [sizes[client] for client in chosen])
        correct = changed = None
        if number % evaluate_every == 0 or number > plan.rounds - LAST:
            before, predictions = predictions, learner.predict(weights, test.x)
            correct = tuple(right_answers(predictions, test, learner.n_classes).tolist())
            changed = None if before is None else float(np.mean(before != predictions))
        samples = plan.local_epochs * sum(sizes[client] for client in chosen)
        seconds = time.perf_counter() - began
        rounds = (*rounds, Round(number, chosen, samples, seconds, correct, changed))
        yield Progress(rounds, weights, predictions)


def clients_of(sizes: Sequence[int], plan: Plan, number: int) -> tuple[int, ...]:
    """Give the clients of one round, ascending; those without data never take part."""
    able = np.flatnonzero(np.asarray(sizes) > 0)
    if not len(able):
        raise ScopeError(f"training needs data, all {len(sizes)} clients are empty; keep more")
    count = max(1, round(plan.fraction * len(able)))
    if count == len(able):
        return tuple(able.tolist())
    rng = plan.rng(Purpose.SAMPLE_CLIENTS, number)
    return tuple(np.sort(rng.permutation(able)[:count]).tolist())


def train_client(
    learner: Learner, weights: Weights, data: Examples, plan: Plan, number: int, client: int
) -> Weights:
    """Give one client's weights after its share of one round."""
    rng = plan.rng(Purpose.TRAIN, number, client)
    trained = learner.train(weights, data, plan, plan.lr_at(number), rng)
    if not all(np.isfinite(array).all() for array in trained):
        raise ScopeError(
            f"training must stay finite, the loss became NaN in round {number} at client {client}; "
            "lower lr, or look for values that are not finite in that client's data"
        )
    return trained


def average(parts: Iterable[Weights], sizes: Sequence[int]) -> Weights:
    """Give the mean of all parts, each counting by its samples, added up in float64.

    >>> average([[np.float32([0])], [np.float32([4])]], sizes=[3, 1])
    [array([1.], dtype=float32)]
    """
    total = sum(sizes)
    sums: list[NDArray[np.float64]] = []
    for part, size in zip(parts, sizes, strict=True):
        if not sums:
            sums = [np.zeros(array.shape) for array in part]
        for added, array in zip(sums, part, strict=True):
            added += array * np.float64(size / total)
    return [added.astype(np.float32) for added in sums]


def right_answers(
    predictions: NDArray[np.int64], test: Examples, n_classes: int
) -> NDArray[np.int64]:
    """Count the right predictions of each class (C,)."""
    return np.bincount(test.y[predictions == test.y], minlength=n_classes)


def history_of(progress: Progress, test: Examples, n_classes: int) -> History:
    """Close a training that is through all its rounds."""
    rounds, weights, predictions = progress
    assert predictions is not None
    return History(rounds, np.bincount(test.y, minlength=n_classes), predictions, weights)
