"""FedCore (Guo 2024), chosen once: k weighted medoids of each class in last-layer gradients."""

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection
from scopefl.core.order import Rows, by_class
from scopefl.core.scores import Floats
from scopefl.errors import ScopeError
from scopefl.methods.method import Budget, Client, Method, WarmUp
from scopefl.methods.plain import class_by_class
from scopefl.methods.trained import errors


def gradient_distances(
    error: NDArray[np.float64], features: NDArray[np.floating]
) -> NDArray[np.float32]:
    """Give distances (N, N) between gradients [e, e (x) f] without forming them.

    Their inner products are (e_i . e_j) (1 + f_i . f_j).

    >>> gradient_distances(np.array([[1.0], [0.0]]), np.array([[2.0], [5.0]]))
    array([[0.      , 2.236068],
           [2.236068, 0.      ]], dtype=float32)
    """
    features = features.astype(np.float64)
    inner = (error @ error.T) * (1 + features @ features.T)
    length = np.diag(inner)
    squared = np.maximum(length[:, None] + length - 2 * inner, 0)
    np.fill_diagonal(squared, 0)
    distance: NDArray[np.float32] = np.sqrt(squared).astype(np.float32)
    return distance


def medoids(distance: NDArray[np.float32], count: int, seed: int) -> NDArray[np.intp]:
    """Give the rows of `count` medoids, found by FasterPAM."""
    if count >= len(distance):
        return np.arange(len(distance))
    try:
        import kmedoids
    except ImportError:
        raise ScopeError(
            "FedCore needs k-medoids; pip install scopefl[fedcore] (kmedoids is GPL-3.0)"
        ) from None
    found = kmedoids.fasterpam(distance, count, random_state=seed % (1 << 32), n_cpu=1)
    return np.sort(np.asarray(found.medoids, np.intp))


def select(client: Client, agreed: bytes, budget: Budget) -> Selection:  # noqa: ARG001
    """Keep each class's medoids, as many as its share of the count."""
    error, features = errors(client, client.trained), client.trained.features

    def choose(rows: Rows, count: int) -> Rows:
        distance = gradient_distances(error[rows], features[rows])
        return rows[medoids(distance, count, client.seed)]

    return class_by_class(client, budget, choose)


def weigh(client: Client, selection: Selection) -> Floats:
    """Let each medoid count for the samples of its class that are nearest to it, (kept,)."""
    error, features = errors(client, client.trained), client.trained.features
    weight = np.zeros(len(client))
    for rows in by_class(client.labels, client.n_classes):
        chosen = selection.kept[rows]
        if chosen.any():
            distance = gradient_distances(error[rows], features[rows])[:, chosen]
            weight[rows[chosen]] = np.bincount(distance.argmin(axis=1), minlength=chosen.sum())
    return weight[selection.kept]


FEDCORE = Method(select, uses="warm-up", warm_up=WarmUp(), weigh=weigh)
