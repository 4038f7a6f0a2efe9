"""Discrete Gaussian noise from OpenDP, how much of it the terms ask for, and what it adds up to.

Accounting is zero-concentrated (rho adds up over rounds), turned into epsilon at the terms' delta.
"""

from functools import lru_cache
from typing import Any

import numpy as np
import opendp.prelude as opendp
from numpy.typing import NDArray

from scopefl.core import noisy
from scopefl.core.terms import Terms
from scopefl.errors import RefusedError

PRECISION = 1e-4


@lru_cache
def rho_for(epsilon: float, delta: float) -> float:
    """Give the largest rho whose conversion keeps (epsilon, delta)."""
    low, high = 0.0, epsilon
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        low, high = (middle, high) if epsilon_of(middle, delta) <= epsilon else (low, middle)
    return low


def epsilon_of(rho: float, delta: float) -> float:
    """Give the epsilon that rho amounts to at this delta, as OpenDP converts it."""
    if rho <= 0:
        return 0.0
    opendp.enable_features("contrib")
    gaussian: Any = opendp.m.make_gaussian(*_space(), scale=float(1 / np.sqrt(2 * rho)))
    converted: Any = opendp.c.make_zCDP_to_approxDP(gaussian)
    return float(converted.map(1.0).epsilon(delta))


def share(terms: Terms, sites: int) -> float:
    """Give the deviation that each site adds, in units of 2^-20.

    In secure-sum+dp the sites share the noise out, all but the colluders' part of it.
    """
    # A sum of discrete Gaussians is not one exactly. What that costs (Kairouz, Liu and Steinke
    # 2021, proposition 13) is below the smallest float at deviations of 100 units; these are of
    # thousands, at epsilon 1000 and 4096 sites still 600.
    sigma = noisy.sensitivity(terms) / np.sqrt(2 * rho_for(terms.epsilon, terms.delta))
    honest = sites - terms.colluders if terms.masked else 1
    if honest < 1:
        raise RefusedError(
            f"with {terms.colluders} colluders there must be at least {terms.colluders + 1} sites, "
            f"got {sites}"
        )
    return float(sigma / np.sqrt(honest))


def noised(rows: NDArray[np.int64], deviation: float) -> NDArray[np.int64]:
    """Give rows (R, C) with a discrete Gaussian of its own in every cell."""
    opendp.enable_features("contrib")
    add: Any = opendp.m.make_gaussian(*_space(), scale=float(deviation))
    return np.array(add(rows.ravel().tolist()), np.int64).reshape(rows.shape)


def _space() -> tuple[Any, Any]:
    return opendp.vector_domain(opendp.atom_domain(T="i64")), opendp.l2_distance(T="f64")
