"""FedCS (Hao 2025): drop what contrasts most with its class among the clients' centroids."""

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection
from scopefl.core.order import Rows, by_class, exact, highest
from scopefl.methods.class_means import class_means, decode, encode, median
from scopefl.methods.method import Budget, Client, Method, WarmUp, shared_out


def summarize(client: Client) -> bytes:
    """Send the class means of the warmed-up model's features."""
    return encode(class_means(client.trained.features, client.labels, client.n_classes))


def contrast(client: Client, centroids: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give distance to the nearest other centroid minus distance to the own one, (N,)."""
    features = client.trained.features.astype(np.float64)
    known = np.isfinite(centroids).all(axis=1)
    distance = np.full((len(client), client.n_classes), np.inf)
    for c in np.flatnonzero(known):
        distance[:, c] = np.linalg.norm(features - centroids[c], axis=1)
    here = np.arange(len(client))
    own = distance[here, client.labels]
    distance[here, client.labels] = np.inf
    nearest = distance.min(axis=1, initial=np.inf)
    value: NDArray[np.float64] = np.where(np.isfinite(nearest), nearest, 0.0) - own
    return value


def common_here(client: Client, beta: float) -> NDArray[np.bool_]:
    """Mark the classes (C,) whose local count is within beta of the largest."""
    count = np.bincount(client.labels, minlength=client.n_classes)
    largest = max(int(count.max(initial=0)), 1)
    near: NDArray[np.bool_] = (count > 0) & ((largest - count) / largest <= beta)
    return near


def select(client: Client, agreed: bytes, budget: Budget) -> Selection:
    """Drop p_f of each common class, then p_l of all that is left, by highest |contrast|.

    Asked for a number, the first step drops so much that the second, p_l, ends there.
    """
    value = np.abs(contrast(client, decode(agreed)))
    common = np.flatnonzero(common_here(client, budget.beta))
    groups = [by_class(client.labels, client.n_classes)[c] for c in common]
    redundant = np.zeros(len(client), bool)
    for rows, count in zip(groups, _first_step(client, groups, budget), strict=True):
        redundant[highest(count, [value], client.ids, rows)] = True
    left = np.flatnonzero(~redundant)
    count = int(exact("p_l", budget.p_l) * len(left))
    if budget.count is not None:
        count = len(left) - budget.of(len(client))
    anomalous = np.zeros(len(client), bool)
    anomalous[highest(count, [value], client.ids, left)] = True
    return Selection.dropping(anomalous, redundant)


def _first_step(client: Client, groups: list[Rows], budget: Budget) -> list[int]:
    sizes = np.array([len(rows) for rows in groups], np.int64)
    if budget.count is None:
        rate = exact("p_f", budget.p_f)
        return [int(rate * int(size)) for size in sizes]
    before_second = min(int(budget.of(len(client)) / (1 - exact("p_l", budget.p_l))), len(client))
    drop = min(len(client) - before_second, int(sizes.sum()))
    dropped: list[int] = shared_out(drop, sizes).tolist()
    return dropped


FEDCS = Method(select, summarize, median, uses="warm-up", warm_up=WarmUp())
