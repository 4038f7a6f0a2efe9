"""Merging that one bad member cannot move far: the weighted median of sites, or of groups of them.

It costs agreement where sites differ honestly (docs/privacy.md), so the plain sum is the default.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scopefl.core.profile import Profile
from scopefl.core.rebuilt import rebuilt

CAP = 10
"""Times the median of a class's holders that one holder may count."""


def weighted_median(profiles: Sequence[Profile]) -> Profile:
    """Merge so that in each class no member of less than half the images decides."""
    counts = np.stack([profile.count for profile in profiles])
    middle = _median(counts.astype(float), (counts > 0).astype(np.int64))
    counts = np.minimum(counts, np.int64(np.rint(CAP * middle)))
    means = np.stack([profile.mean[[0, 2]] for profile in profiles])
    variances = np.stack([profile.sigma[[0, 2]] ** 2 for profile in profiles])
    weights = np.broadcast_to(counts[:, None], means.shape)
    mean = _median(means, weights)
    return rebuilt(counts.sum(axis=0), mean, _median(variances + (means - mean) ** 2, weights))


def _median(values: NDArray[np.float64], weights: NDArray[np.int64]) -> NDArray[np.float64]:
    """Give along the first axis the value where half of the weight is reached."""
    order = np.argsort(values, axis=0, kind="stable")
    ordered, weight = (np.take_along_axis(x, order, axis=0) for x in (values, weights))
    passed = 2 * np.cumsum(weight, axis=0) >= weight.sum(axis=0)
    place = passed.argmax(axis=0)[None]
    median: NDArray[np.float64] = np.take_along_axis(ordered, place, axis=0)[0]
    return median
