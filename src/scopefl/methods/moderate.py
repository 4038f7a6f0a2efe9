"""Moderate coreset (Xia 2023): keep what lies neither near its class's centre nor far from it."""

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection
from scopefl.core.order import by_class, ranked
from scopefl.methods.method import Budget, Client, Method, WarmUp, keeping


def distances(client: Client) -> NDArray[np.float64]:
    """Give each sample's distance (N,) to the per-dimension median of its class's features."""
    features = client.trained.features.astype(np.float64)
    distance = np.empty(len(client))
    for rows in by_class(client.labels, client.n_classes):
        if len(rows):
            centre = np.median(features[rows], axis=0)
            distance[rows] = np.linalg.norm(features[rows] - centre, axis=1)
    return distance


def select(client: Client, agreed: bytes, budget: Budget) -> Selection:  # noqa: ARG001
    """Keep the middle of all samples by distance, all classes together."""
    order = ranked([-distances(client)], client.ids, np.arange(len(client)))
    count = budget.of(len(client))
    start = (len(client) - count) // 2
    return keeping(order[start : start + count], len(client))


MODERATE = Method(select, uses="warm-up", warm_up=WarmUp())
