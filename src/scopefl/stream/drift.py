"""Whether the images of late are still like those before: class by class, with an error rate.

Three questions. Have the mean RS or S_neg of a class shifted? Do more images than before look like
no class at all, as those of a class that the kit does not know would? Do labels fit worse than
before? Each is a test against chance, and the chance that any of them raises an alarm over one
checkpoint where nothing changed is at most `false_alarms`.
"""

from dataclasses import dataclass
from math import exp, lgamma, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from scopefl.core.profile import Profile
from scopefl.errors import ScopeError
from scopefl.stream.signs import Signs

METRICS = ("RS", "S_neg")
RS_AND_S_NEG = [0, 2]
NARROWEST = 1e-3
"""The least sigma that shifts are measured in: classes of equal images have none."""
FEWEST = 5
"""So many strange images, at least, are a suspicion."""


@dataclass(frozen=True)
class Bounds:
    """When to raise an alarm.

    `false_alarms` bounds the chance of any at a checkpoint where nothing changed. A shift must also
    be of `sigmas`, the AUC below `auc`; a class of fewer than `least` recent images is not judged.
    """

    false_alarms: float = 0.01
    sigmas: float = 0.25
    auc: float = 0.45
    least: int = 30

    def __post_init__(self) -> None:
        if not (0 < self.false_alarms < 1 and self.least >= 2):
            raise ScopeError(
                "false_alarms must be between 0 and 1 and least at least 2, got "
                f"{self.false_alarms} and {self.least}"
            )


@dataclass(frozen=True)
class Alarm:
    """One thing that changed: "shift", "new class" or "fitness", of which class, in a sentence."""

    kind: str
    label: int | None
    sentence: str


@dataclass(frozen=True, eq=False)
class Drift:
    """How recent images differ.

    `sigmas` and `errors` (2, C) are the shifts of mean RS and S_neg, in sigmas of the class and in
    standard errors, NaN where there were too few images; `p_strange` (C,) is the chance of so many
    strange images; `auc` is the chance that RS - S_neg of a recent image is above that of an
    earlier one of its class, `auc_errors` how many standard errors that is above one half. What
    follows says which of these is an alarm.
    """

    recent: Signs
    earlier: Signs
    sigmas: NDArray[np.float64]
    errors: NDArray[np.float64]
    p_strange: NDArray[np.float64]
    auc: float
    auc_errors: float
    shifted: NDArray[np.bool_]
    suspected: NDArray[np.bool_]
    falling: bool
    usual: str
    """Whose means the shifts are from, as a sentence says it."""

    def alarms(self, classes: tuple[str, ...]) -> list[Alarm]:
        """Give every alarm, class by class."""
        found = [
            self._shift(int(m), int(c), classes[c]) for c, m in np.argwhere(self.shifted.T).tolist()
        ]
        found += [self._newcomers(c, classes[c]) for c in np.flatnonzero(self.suspected).tolist()]
        if self.falling:
            sentence = (
                f"labels fit worse: RS - S_neg of a recent image is above an earlier one's of its "
                f"class with chance {self.auc:.2f} ({-self.auc_errors:.1f} standard errors below "
                "one half)"
            )
            found.append(Alarm("fitness", None, sentence))
        return found

    def _shift(self, m: int, c: int, name: str) -> Alarm:
        side = "above" if self.sigmas[m, c] > 0 else "below"
        sentence = (
            f"{name}: mean {METRICS[m]} is {abs(self.sigmas[m, c]):.2f} sigmas {side} {self.usual} "
            f"({abs(self.errors[m, c]):.1f} standard errors, {self.recent.profile.count[c]} images)"
        )
        return Alarm("shift", c, sentence)

    def _newcomers(self, c: int, name: str) -> Alarm:
        sentence = (
            f"{name}: {self.recent.strange[c]} of {self.recent.nearest[c]} images nearest to it "
            f"are unlike any class (before: {self.earlier.strange[c]} of {self.earlier.nearest[c]})"
            "; is this a new class?"
        )
        return Alarm("new class", c, sentence)


def drift(
    recent: Signs, earlier: Signs, policy: Profile | None = None, bounds: Bounds | None = None
) -> Drift:
    """Compare recent images with earlier ones, and their means with those of a policy's profile.

    Without one, with those of the earlier images: then only what changes at this site is an alarm.
    """
    bounds = bounds or Bounds()
    against, usual = (
        (earlier.profile, "those before") if policy is None else (policy, "the policy's")
    )
    sigmas, errors = _shifts(recent.profile, against, bounds.least)
    judged = (recent.nearest >= bounds.least) & (earlier.nearest >= bounds.least)
    auc, auc_errors = _auc(recent.margins, earlier.margins)
    # Bonferroni: every question asked has its share of the error rate, two-sided ones in halves.
    share = bounds.false_alarms / max(int((~np.isnan(errors)).sum() + judged.sum() + 1), 1)
    two_sided, one_sided = (-NormalDist().inv_cdf(p) for p in (share / 2, share))
    p_strange = np.ones(len(judged))
    for c in np.flatnonzero(judged & (recent.strange >= FEWEST)).tolist():
        counts = (recent.strange[c], recent.nearest[c], earlier.strange[c], earlier.nearest[c])
        p_strange[c] = chance_of_so_many(*map(int, counts))
    with np.errstate(invalid="ignore"):
        shifted = (np.abs(errors) > two_sided) & (np.abs(sigmas) > bounds.sigmas)
    falling = auc_errors < -one_sided and auc < bounds.auc
    return Drift(
        recent, earlier, sigmas, errors, p_strange, auc, auc_errors,
        shifted, p_strange < share, falling, usual,
    )  # fmt: skip


def _shifts(
    recent: Profile, against: Profile, least: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give the shift of mean RS and S_neg (2, C) in sigmas and in standard errors."""
    enough = (recent.count >= least) & (against.count >= least)
    sigma = np.maximum(against.sigma[RS_AND_S_NEG], NARROWEST)
    sigmas = (recent.mean - against.mean)[RS_AND_S_NEG] / sigma
    n, m = np.maximum(recent.count, 1), np.maximum(against.count, 1)
    errors = sigmas / np.sqrt(1 / n + 1 / m)
    return np.where(enough, sigmas, np.nan), np.where(enough, errors, np.nan)


def chance_of_so_many(strange: int, n: int, strange_before: int, n_before: int) -> float:
    """Give the chance that at least so many of all strange images fall among these n (Fisher).

    >>> round(chance_of_so_many(2, 2, 0, 2), 4)  # both of two, among two of four: 1 in 6
    0.1667
    """
    total, everybody = strange + strange_before, n + n_before
    if strange * everybody <= total * n:
        return 1.0
    log = _choose(total, strange) + _choose(everybody - total, n - strange) - _choose(everybody, n)
    term = chance = exp(log)
    for x in range(strange, min(total, n)):
        term *= (total - x) * (n - x) / ((x + 1) * (everybody - total - n + x + 1))
        chance += term
    return min(chance, 1.0)


def _choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def _auc(recent: NDArray[np.int64], earlier: NDArray[np.int64]) -> tuple[float, float]:
    """Compare counts (C, BINS) within each class: the AUC, and its standard errors above half."""
    n, m = recent.sum(axis=1), earlier.sum(axis=1)
    pairs = float((n * m).sum())
    if not pairs:
        return 0.5, 0.0
    below = np.cumsum(earlier, axis=1) - earlier / 2
    wins = float((recent * below).sum())
    everybody, tied = n + m, recent + earlier
    # Mann and Whitney's variance where images in one bin count as equal.
    ties = (np.float64(tied) ** 3 - tied).sum(axis=1)
    size = np.maximum(everybody * (everybody - 1.0), 1.0)
    variance = float((n * m / 12.0 * (everybody + 1 - ties / size)).sum())
    return wins / pairs, (wins - pairs / 2) / sqrt(variance) if variance > 0 else 0.0
