"""Which samples the charts show when there are too many to draw."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST = 1
SEED = 0


def drawn(groups: NDArray[np.integer[Any]], limit: int) -> NDArray[np.intp]:
    """Give at most about `limit` rows: every group by its share, at least 1 of each, seed 0.

    >>> len(drawn(np.zeros(10, int), 4)), len(drawn(np.arange(5), 4))
    (4, 5)
    """
    if len(groups) <= limit:
        return np.arange(len(groups))
    rng = np.random.default_rng(SEED)
    mixed = rng.permutation(len(groups))
    order = mixed[np.argsort(groups[mixed], kind="stable")]
    _, start, size = np.unique(groups[order], return_index=True, return_counts=True)
    take = np.maximum(np.minimum(size, LEAST), size * limit // len(groups))
    within = np.arange(len(groups)) - np.repeat(start, size)
    return np.sort(order[within < np.repeat(take, size)])
