"""Paired tests over seeds, and what Holm leaves of them when many are made at once."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from scopefl.errors import ScopeError

FEWEST = 3
"""Seeds below which no difference is claimed."""


class Paired(NamedTuple):
    """Mean of the differences, how many pairs, and the p-value of a paired t-test (1 if none)."""

    difference: float
    pairs: int
    p: float


def paired(ours: Sequence[float], theirs: Sequence[float]) -> Paired:
    """Compare two lists run under the same seeds.

    >>> paired([1.0, 2.0, 3.0], [1.0, 2.0, 3.0])
    Paired(difference=0.0, pairs=3, p=1.0)
    """
    gap = np.asarray(ours, np.float64) - np.asarray(theirs, np.float64)
    difference = float(gap.mean()) if len(gap) else 0.0
    if len(gap) < FEWEST:
        return Paired(difference, len(gap), 1.0)
    if np.ptp(gap) < 1e-12:
        # No spread at all: the same difference every time, or none.
        return Paired(difference, len(gap), 1.0 if abs(difference) < 1e-12 else 0.0)
    try:
        from scipy.stats import ttest_rel
    except ImportError:
        raise ScopeError("the tests need scipy; pip install scopefl[experiment]") from None
    return Paired(difference, len(gap), float(ttest_rel(ours, theirs).pvalue))


def holm(p_values: Sequence[float]) -> list[float]:
    """Give p-values corrected for being many, by Holm's step-down.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p_values, kind="stable")
    corrected, highest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order.tolist()):
        highest = max(highest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = highest
    return corrected
