"""A profile out of estimated moments: the nearest integers that some scores could have."""

import numpy as np
from numpy.typing import NDArray

from scopefl.core.cells import UNIT
from scopefl.core.profile import Profile

EDGE = 1e-3
"""How far from 1 an estimated |mean| stays, so that rounding cannot push a square past it."""


def rebuilt(
    count: NDArray[np.int64], mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> Profile:
    """Give a valid profile with these moments (2, C) of RS and S_neg; DS follows from RS.

    DS^2 = 1 - RS^2 gives its mean square; its variance is (RS/DS)^2 times that of RS (delta
    method).

    >>> profile = rebuilt(np.array([4]), np.array([[0.6], [0.1]]), np.array([[0.01], [0.0]]))
    >>> profile.mean.round(3).ravel().tolist(), profile.sigma[0].round(3).tolist()
    ([0.6, 0.79, 0.1], [0.1])
    """
    mean = np.clip(mean, -1 + EDGE, 1 - EDGE)
    variance = np.clip(variance, 0, 1 - EDGE - mean**2)
    rs_square, s_square = mean**2 + variance
    ds_square = 1 - rs_square
    ds_variance = np.minimum(variance[0] * mean[0] ** 2 / ds_square, ds_square)
    ds = np.sqrt(ds_square - ds_variance)
    n = np.maximum(count, 0)
    sums = np.stack([mean[0], ds, mean[1]]) * n * UNIT
    squares = np.stack([rs_square, ds_square, s_square]) * n * UNIT
    profile = Profile(n, np.rint(sums).astype(np.int64), np.rint(squares).astype(np.int64))
    profile.check()
    return profile
