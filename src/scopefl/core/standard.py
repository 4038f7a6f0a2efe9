"""Scores measured by their class: z, what a rule orders by, and how a sample leans to its rival."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from scopefl.core.policy import Policy
from scopefl.core.scores import Floats, Labels, Scores
from scopefl.errors import ScopeError

Marked = NDArray[np.bool_]
Order = Callable[[Scores], Floats]
"""From z to what samples are ordered by, highest first."""
MARGIN = 1.0
"""How far a sample must lean to its rival to be anomalous: see docs/results.md."""


def z_scores(scores: Scores, labels: Labels, policy: Policy) -> Scores:
    """Standardise each score by its class; 0 where the class's sigma is 0 or unknown."""
    sigma = np.where(policy.sigma > 0, policy.sigma, np.inf)

    def standardised(m: int, x: Floats) -> Floats:
        z: NDArray[np.float64] = x - policy.mean[m][labels]
        z /= sigma[m][labels]
        return z

    return Scores(
        standardised(0, scores.rs), standardised(1, scores.ds), standardised(2, scores.s_neg)
    )


def clipped(z: Scores) -> Scores:
    """Map z from -3..3 to 0..1 and clip."""
    rs, ds, s_neg = (np.clip((x + 3) / 6, 0, 1) for x in (z.rs, z.ds, z.s_neg))
    return Scores(rs, ds, s_neg)


def clipped_z(scores: Scores, labels: Labels, policy: Policy) -> Scores:
    """Give clipped z of RS, DS, S_neg (N,) in 0..1; 1/2 where sigma is 0.

    >>> policy = Policy(np.ones(1), np.array([[0.5]] * 3), np.array([[0.1], [0.1], [0.0]]))
    >>> z = clipped_z(Scores(*np.float64([[0.5], [0.8], [0.9]])), np.array([0]), policy)
    >>> z.rs, z.ds, z.s_neg
    (array([0.5]), array([1.]), array([0.5]))
    """
    return clipped(z_scores(scores, labels, policy))


def anomaly(z: Scores) -> Floats:
    """Give AS, high where a sample leans to another class more than to its own."""
    return z.s_neg - z.rs


def redundancy(z: Scores) -> Floats:
    """Give R, high where a sample is typical, unambiguous and brings nothing new."""
    return z.rs - z.s_neg - z.ds


def keys(of: Order, z: Scores) -> tuple[Floats, Floats]:
    """Give what to sort by: the score of clipped z, and of unclipped z where clipping ties."""
    return of(clipped(z)), of(z)


def reverse(of: Order) -> Order:
    """Give the order that begins at the other end."""
    return lambda z: -of(z)


def misplaced(scores: Scores, policy: Policy, z: Scores) -> Marked:
    """Mark what looks like a member of its rival class and clearly less like one of its own."""
    return np.asarray(lean(scores, policy, z) > MARGIN)


def leaning(scores: Scores, policy: Policy, z: Scores) -> Marked:
    """Mark what fits its rival class better than its own, by however little."""
    return np.asarray(lean(scores, policy, z) > 0)


def lean(scores: Scores, policy: Policy, z: Scores) -> Floats:
    """Give how much better a sample fits its rival class than its own (N,), in sigmas of RS."""
    if scores.rival is None:
        raise ScopeError('p_l="auto" needs the rival class of each sample; score again to get it')
    sigma = np.where(policy.sigma[0] > 0, policy.sigma[0], np.inf)
    as_rival = (scores.s_neg - policy.mean[0][scores.rival]) / sigma[scores.rival]
    known = policy.weight[scores.rival] > 0
    return np.where(known, as_rival - z.rs, -np.inf)
