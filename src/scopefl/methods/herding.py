"""Herding (Welling 2009): grow a set whose mean follows the class mean of the features."""

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection
from scopefl.core.order import Rows
from scopefl.methods.method import Budget, Client, Method, WarmUp
from scopefl.methods.plain import class_by_class


def herd(features: NDArray[np.floating], count: int, *, farthest: bool = False) -> list[int]:
    """Give `count` rows, each the one that brings the sum of the chosen nearest to its share.

    Step i takes the j that minimises |(i + 1) mean - sum of chosen - f_j|, as published. A widely
    used library takes the maximum, which picks outliers: `farthest` does as it does.

    >>> herd(np.array([[0.0], [1.0], [2.0], [9.0]]), 3)
    [2, 1, 3]
    """
    features = features.astype(np.float64)
    mean, chosen = features.mean(axis=0), list[int]()
    free, lack = np.ones(len(features), bool), np.zeros(features.shape[1])
    lengths = np.square(features).sum(axis=1)
    for _ in range(count):
        lack = lack + mean
        distance = lengths - 2 * (features @ lack)
        distance = np.where(free, -distance if farthest else distance, np.inf)
        nearest = int(distance.argmin())
        chosen.append(nearest)
        free[nearest] = False
        lack = lack - features[nearest]
    return chosen


def select(
    client: Client,
    agreed: bytes,  # noqa: ARG001
    budget: Budget,
    *,
    farthest: bool = False,
) -> Selection:
    """Herd each class on its own."""
    features = client.trained.features

    def choose(rows: Rows, count: int) -> Rows:
        return rows[herd(features[rows], count, farthest=farthest)]

    return class_by_class(client, budget, choose)


HERDING = Method(select, uses="warm-up", warm_up=WarmUp())
FARTHEST = replace(HERDING, select=partial(select, farthest=True))
