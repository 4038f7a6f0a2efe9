"""What is measured of a training and of a coreset: accuracy, balance, drift, bias, the filter."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import Floats, Labels
from scopefl.errors import ScopeError
from scopefl.train.history import LAST, History, Round
from scopefl.train.learner import Examples, Learner, Weights

Mask = NDArray[np.bool_]


class Thirds(NamedTuple):
    """Classes (C,) by how often they are trained on: a third each, the middle takes the rest."""

    head: Mask
    medium: Mask
    tail: Mask


class FilterQuality(NamedTuple):
    """Of what was dropped as anomalous, the share truly mislabelled; and of those, the share found.

    NaN where nothing was dropped, or nothing was mislabelled.
    """

    precision: float
    recall: float


class Bias(NamedTuple):
    """Distances of gradients from that of the clean samples: all samples (beta), the kept ones."""

    raw: float
    kept: float


def final_accuracy(history: History, last: int = LAST) -> float:
    """Give the mean accuracy after the last rounds."""
    return float(history.accuracy[-last:].mean())


def flip_rate(history: History, last: int = LAST) -> float:
    """Give the mean share of test predictions that change from one of the last rounds to the next.

    NaN after a single evaluation.
    """
    changed = [each.changed for each in history.rounds[-last:] if each.changed is not None]
    return float(np.mean(changed)) if changed else math.nan


def thirds(train_count: Labels) -> Thirds:
    """Divide classes by their number of training samples; ties go by class number.

    >>> thirds(np.array([5, 90, 30, 30])).head
    array([False,  True, False, False])
    """
    count = np.asarray(train_count)
    if len(count) < 2:
        raise ScopeError(f"head and tail need at least 2 classes, got {len(count)}")
    size = max(1, len(count) // 3)
    place = np.empty(len(count), np.intp)
    place[np.argsort(-count, kind="stable")] = np.arange(len(count))
    head, tail = place < size, place >= len(count) - size
    return Thirds(head, ~(head | tail), tail)


def accuracy_of(classes: Mask, history: History, number: int | None = None) -> float:
    """Give the accuracy on some classes after a round, the last one if none is named."""
    correct = np.asarray(_evaluated(history, number).correct)
    return float(correct[classes].sum() / history.test_count[classes].sum())


def trend(classes: Mask, history: History, first: int, last: int) -> float:
    """Give how much the accuracy on some classes rose between two rounds."""
    return accuracy_of(classes, history, last) - accuracy_of(classes, history, first)


def tail_to_head(predictions: Labels, labels: Labels, classes: Thirds) -> float:
    """Give the share of samples of tail classes that are taken for one of a head class."""
    return float(classes.head[predictions[classes.tail[labels]]].mean())


def imbalance_ratio(count: Labels) -> float:
    """Give the largest class over the smallest; infinite where a class is empty.

    >>> imbalance_ratio(np.array([50, 5, 10]))
    10.0
    """
    return float(count.max() / count.min()) if count.min() else math.inf


def total_variation(counts: Labels) -> Floats:
    """Give each client's distance (K,) of its label shares from all clients', counts being (K, C).

    >>> total_variation(np.array([[10, 0], [0, 10]]))
    array([0.5, 0.5])
    """
    local, overall = _shares(counts)
    return np.asarray(np.abs(local - overall).sum(axis=1) / 2)


def wasserstein(counts: Labels) -> Floats:
    """Give each client's 1-Wasserstein distance (K,), neighbouring class numbers one apart.

    >>> wasserstein(np.array([[10, 0, 0], [0, 0, 10]]))
    array([1., 1.])
    """
    local, overall = _shares(counts)
    return np.asarray(np.abs(np.cumsum(local - overall, axis=1)).sum(axis=1))


def heterogeneity(learner: Learner, weights: Weights, clients: Sequence[Examples]) -> float:
    """Give Gamma, the mean squared distance of clients' gradients from that of all their data."""
    able = [each for each in clients if len(each)]
    gradients = np.stack([_flat(learner.gradient(weights, each)) for each in able])
    overall = np.average(gradients, axis=0, weights=[len(each) for each in able])
    return float(np.square(gradients - overall).sum(axis=1).mean())


def gradient_bias(
    learner: Learner, weights: Weights, data: Examples, clean: Mask, kept: Mask
) -> Bias:
    """Give how far one client's gradient is from its clean samples', before and after selection."""
    if not (clean.any() and kept.any()):
        raise ScopeError("the gradient bias needs at least one clean and one kept sample")
    truth = _flat(learner.gradient(weights, data[clean]))
    of_all, of_kept = (_flat(learner.gradient(weights, data[r])) for r in (slice(None), kept))
    return Bias(*(float(np.linalg.norm(each - truth)) for each in (of_all, of_kept)))


def filter_quality(anomalous: Mask, mislabelled: Mask) -> FilterQuality:
    """Give precision and recall of what was dropped as anomalous against what was injected.

    >>> filter_quality(np.array([True, True, False]), np.array([True, False, False]))
    FilterQuality(precision=0.5, recall=1.0)
    """
    found = float((anomalous & mislabelled).sum())
    dropped, wrong = float(anomalous.sum()), float(mislabelled.sum())
    return FilterQuality(
        found / dropped if dropped else math.nan, found / wrong if wrong else math.nan
    )


def _evaluated(history: History, number: int | None) -> Round:
    rounds = {each.number: each for each in history.evaluated}
    wanted = number or max(rounds)
    if wanted not in rounds:
        raise ScopeError(
            f"round {wanted} was not evaluated, only {sorted(rounds)}; evaluate every round"
        )
    return rounds[wanted]


def _shares(counts: Labels) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    total = counts.sum(axis=1, keepdims=True)
    # A client without data has no distribution: its distances are NaN.
    local = np.divide(counts, total, out=np.full(counts.shape, np.nan), where=total > 0)
    return local, counts.sum(axis=0) / max(counts.sum(), 1)


def _flat(arrays: Weights) -> NDArray[Any]:
    return np.concatenate([array.ravel().astype(np.float64) for array in arrays])
