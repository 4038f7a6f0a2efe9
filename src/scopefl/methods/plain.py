"""The two ends of the scale: keep all, or keep a random part."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection
from scopefl.core.order import Rows, by_class
from scopefl.methods.method import Budget, Client, Method, keeping, ranker, shared_out


def keep_all(client: Client, agreed: bytes, budget: Budget) -> Selection:  # noqa: ARG001
    """Keep every sample."""
    return keeping(np.arange(len(client)), len(client))


def tickets(client: Client) -> NDArray[np.float64]:
    """Draw a number in 0..1 for each sample (N,)."""
    return client.rng().random(len(client))


def class_by_class(
    client: Client, budget: Budget, choose: Callable[[Rows, int], Rows]
) -> Selection:
    """Let each class keep its share of the count, chosen by `choose(rows, how many)`."""
    groups = by_class(client.labels, client.n_classes)
    sizes = np.array([len(rows) for rows in groups])
    counts = shared_out(budget.of(len(client)), sizes)
    chosen = [choose(rows, n) for rows, n in zip(groups, counts.tolist(), strict=True) if n]
    return keeping(np.concatenate([np.empty(0, np.intp), *chosen]), len(client))


def random_of_each_class(client: Client, agreed: bytes, budget: Budget) -> Selection:  # noqa: ARG001
    """Keep the same share of every class at random."""
    ticket = tickets(client)
    return class_by_class(client, budget, lambda rows, n: rows[np.argsort(ticket[rows])[:n]])


FULL = Method(keep_all, matches="nothing")
RANDOM = ranker(tickets, "labels")
RANDOM_PER_CLASS = Method(random_of_each_class)
