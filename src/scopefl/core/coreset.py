"""Which samples a client keeps: the paper's two stages against the global consensus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fates import ANOMALOUS, KEPT, REDUNDANT, Fate, Fates, FatesInMemory
from scopefl.core.order import Decimal, Ids, exact
from scopefl.core.policy import EPS, Policy
from scopefl.core.scores import Labels, Scores
from scopefl.core.standard import anomaly, misplaced, redundancy
from scopefl.errors import ScopeError

Kept = NDArray[np.bool_]
AUTO: Literal["auto"] = "auto"


@dataclass(frozen=True)
class Selection:
    """The fate of N samples: boolean kept, anomalous, redundant (N,), exactly one true a sample."""

    kept: Kept
    anomalous: Kept
    redundant: Kept

    @classmethod
    def of(cls, fate: Fate) -> "Selection":
        """Tell the fates (N,) apart."""
        return cls(fate == KEPT, fate == ANOMALOUS, fate == REDUNDANT)

    @property
    def fate(self) -> Fate:
        """Give the fates (N,) again."""
        return np.uint8(ANOMALOUS) * self.anomalous + np.uint8(REDUNDANT) * self.redundant

    @classmethod
    def dropping(cls, anomalous: Kept, redundant: Kept) -> "Selection":
        """Keep what is neither."""
        return cls(~(anomalous | redundant), anomalous, redundant)


def target_classes(labels: Labels, policy: Policy, beta: float) -> NDArray[np.bool_]:
    """Mark the classes (C,) that are common here and everywhere: T_c = f_c / W_c near its maximum.

    >>> policy = Policy(np.array([0.5, 1.5]), np.zeros((3, 2)), np.zeros((3, 2)))
    >>> target_classes(np.array([0, 0, 1]), policy, beta=0.5)
    array([ True, False])
    """
    count = np.bincount(np.asarray(labels, np.intp), minlength=len(policy.weight))
    return targets(count, policy, beta)


def targets(count: NDArray[np.int64], policy: Policy, beta: float) -> NDArray[np.bool_]:
    """Mark the target classes where `count` (C,) samples of each class are left."""
    if not 0 <= beta <= 1:
        raise ScopeError(f"beta must be between 0 and 1, got {beta}")
    here = (count > 0) & (policy.weight > 0)
    if not here.any():
        return here
    target = np.where(here, count / count.sum(), 0) / np.where(here, policy.weight, 1)
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
    fates = FatesInMemory(scores, labels, policy, ids)
    prune(fates, p_l=p_l, p_f=p_f, beta=beta)
    return Selection.of(fates.fate)


def prune(fates: Fates, *, p_l: Decimal, p_f: Decimal, beta: float) -> None:
    """Apply the paper's rule to samples that are all kept so far."""
    rate = exact("p_f", p_f)
    drop_anomalies(fates, p_l)
    left = fates.counts(KEPT)
    cut = np.array([int(rate * n) for n in left.tolist()], np.int64)
    cut[~targets(left, fates.policy, beta)] = 0
    fates.turn_highest(cut, redundancy, KEPT, REDUNDANT)


def drop_anomalies(fates: Fates, p_l: Decimal) -> None:
    """Drop the anomalous samples: a share p_l of all together, or by the adaptive rule."""
    if p_l == AUTO:
        fates.turn(misplaced, KEPT, ANOMALOUS)
    else:
        count = int(exact("p_l", p_l) * int(fates.counts(KEPT).sum()))
        fates.turn_highest_of_all(count, anomaly, KEPT, ANOMALOUS)
