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
VOICE = 3
"""Times that median that one holder may weigh, and less where it would outweigh the others."""


def weighted_median(profiles: Sequence[Profile]) -> Profile:
    """Merge so that in each class no member of less than half the weight decides."""
    counts = np.stack([profile.count for profile in profiles])
    held = (counts > 0).astype(np.int64)
    middle = _median(counts.astype(float), held)
    voice = np.clip((held.sum(axis=0) - 1) / 2, 1, VOICE)
    counts, voices = (np.minimum(counts, np.int64(np.rint(c * middle))) for c in (CAP, voice))
    means = np.stack([profile.mean[[0, 2]] for profile in profiles])
    variances = np.stack([profile.sigma[[0, 2]] ** 2 for profile in profiles])
    weights = np.broadcast_to(voices[:, None], means.shape)
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
