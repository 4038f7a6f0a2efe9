"""Which samples a client keeps: the paper's two stages against the global consensus."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scopefl.core.order import Decimal, Ids, Rows, by_class, check_ids, exact, highest
from scopefl.core.policy import EPS, Policy
from scopefl.core.scores import Floats, Labels, Scores, check_labels
from scopefl.errors import ScopeError

Kept = NDArray[np.bool_]
AUTO: Literal["auto"] = "auto"
MARGIN = 1.0
"""How far a sample must lean to its rival to be anomalous: see docs/results.md."""


@dataclass(frozen=True)
class Selection:
    """The fate of N samples: boolean kept, anomalous, redundant (N,), exactly one true a sample."""

    kept: Kept
    anomalous: Kept
    redundant: Kept

    @classmethod
    def dropping(cls, anomalous: Kept, redundant: Kept) -> "Selection":
        """Keep what is neither."""
        return cls(~(anomalous | redundant), anomalous, redundant)


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


def keys(of: Callable[[Scores], Floats], z: Scores) -> tuple[Floats, Floats]:
    """Give what to sort by: the score of clipped z, and of unclipped z where clipping ties."""
    return of(clipped(z)), of(z)


def target_classes(labels: Labels, policy: Policy, beta: float) -> NDArray[np.bool_]:
    """Mark the classes (C,) that are common here and everywhere: T_c = f_c / W_c near its maximum.

    >>> policy = Policy(np.array([0.5, 1.5]), np.zeros((3, 2)), np.zeros((3, 2)))
    >>> target_classes(np.array([0, 0, 1]), policy, beta=0.5)
    array([ True, False])
    """
    if not 0 <= beta <= 1:
        raise ScopeError(f"beta must be between 0 and 1, got {beta}")
    count = np.bincount(np.asarray(labels, np.intp), minlength=len(policy.weight))
    here = (count > 0) & (policy.weight > 0)
    if not here.any():
        return here
    target = np.where(here, count / max(len(labels), 1), 0) / np.where(here, policy.weight, 1)
    highest_target = target.max()
    near: NDArray[np.bool_] = (highest_target - target) / (highest_target + EPS) <= beta
    return here & near


def select(
    scores: Scores,
    labels: Labels,
    policy: Policy,
    *,
    p_l: Decimal = 0.1,
    p_f: Decimal = 0.5,
    beta: float = 0.5,
    ids: Sequence[Any] | Ids | None = None,
) -> Selection:
    """Drop the p_l most anomalous of all, then the p_f most redundant of each target class.

    `p_l="auto"` drops as anomalous what looks like its rival class and not like its own.
    """
    labels = check_labels(labels, len(scores), len(policy.weight))
    ids = check_ids(ids, len(scores))
    rate = exact("p_f", p_f)
    z = z_scores(scores, labels, policy)
    anomalous = anomalies(scores, policy, z, p_l, ids)
    left = np.flatnonzero(~anomalous)
    by_r = keys(redundancy, z)
    redundant = np.zeros(len(scores), bool)
    targets = target_classes(labels[left], policy, beta)
    for rows in _rows_of(targets, labels, left):
        redundant[highest(int(rate * len(rows)), by_r, ids, rows)] = True
    return Selection.dropping(anomalous, redundant)


def anomalies(scores: Scores, policy: Policy, z: Scores, p_l: Decimal, ids: Ids) -> Kept:
    """Mark the anomalous samples (N,): a share p_l of all together, or by the adaptive rule."""
    if p_l == AUTO:
        return misplaced(scores, policy, z)
    count = int(exact("p_l", p_l) * len(scores))
    anomalous = np.zeros(len(scores), bool)
    anomalous[highest(count, keys(anomaly, z), ids, np.arange(len(scores)))] = True
    return anomalous


def misplaced(scores: Scores, policy: Policy, z: Scores) -> Kept:
    """Mark what looks like a member of its rival class and clearly less like one of its own."""
    return np.asarray(lean(scores, policy, z) > MARGIN)


def lean(scores: Scores, policy: Policy, z: Scores) -> Floats:
    """Give how much better a sample fits its rival class than its own (N,), in sigmas of RS."""
    if scores.rival is None:
        raise ScopeError('p_l="auto" needs the rival class of each sample; score again to get it')
    sigma = np.where(policy.sigma[0] > 0, policy.sigma[0], np.inf)
    as_rival = (scores.s_neg - policy.mean[0][scores.rival]) / sigma[scores.rival]
    known = policy.weight[scores.rival] > 0
    return np.where(known, as_rival - z.rs, -np.inf)


def _rows_of(classes: NDArray[np.bool_], labels: Labels, rows: Rows) -> list[Rows]:
    groups = by_class(labels[rows], len(classes))
    return [rows[groups[c]] for c in np.flatnonzero(classes)]
