"""How unbalanced the classes of a collection are."""

import numpy as np
from numpy.typing import NDArray


def imbalance_ratio(count: NDArray[np.int64], present: NDArray[np.bool_]) -> float:
    """Divide the largest class by the smallest of those present; infinite if one is empty.

    >>> imbalance_ratio(np.array([90, 10, 0]), np.array([True, True, False]))
    9.0
    """
    here = count[present]
    if not len(here):
        return 1.0
    return float(here.max() / here.min()) if here.min() else float("inf")
