"""What drift is judged by: a profile and a few counts per class, which add and subtract exactly."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core.policy import Policy
from scopefl.core.profile import Profile
from scopefl.core.scores import Floats, Labels, Scores
from scopefl.errors import ScopeError

FAR = 3.0
"""So many sigmas below what is typical of its nearest class, an image looks like no class."""
BINS, WIDEST = 32, 4.0
"""Margins are counted in bins over so many of their class's deviations to either side."""


@dataclass(frozen=True, eq=False)
class Signs:
    """Of some images, as one policy sees them: their profile and three counts.

    `nearest` (C,) counts images by the class they are nearest, `strange` (C,) those of them that
    are far from it too, `margins` (C, BINS) counts by label and by how large RS - S_neg is.
    """

    profile: Profile
    nearest: NDArray[np.int64]
    strange: NDArray[np.int64]
    margins: NDArray[np.int64]

    @classmethod
    def empty(cls, n_classes: int) -> "Signs":
        """Give the signs of no images."""
        none = np.zeros(n_classes, np.int64)
        return cls(Profile.empty(n_classes), none, none, np.zeros((n_classes, BINS), np.int64))

    @classmethod
    def of(cls, scores: Scores, labels: Labels, policy: Policy) -> "Signs":
        """Count what scores (N,) with their rivals show under a policy."""
        if scores.rival is None:
            raise ScopeError("scores must come with their rivals to notice drift; score them again")
        n_classes = len(policy.weight)
        profile = Profile.of(scores, labels, n_classes)
        rs, s_neg = (np.asarray(x, np.float64) for x in (scores.rs, scores.s_neg))
        near = np.where(rs >= s_neg, labels, scores.rival).astype(np.intp)
        typical, sigma = policy.mean[0][near], policy.sigma[0][near]
        strange = (sigma > 0) & (np.maximum(rs, s_neg) < typical - FAR * sigma)
        margins = np.zeros((n_classes, BINS), np.int64)
        np.add.at(margins, (labels, _bins(rs - s_neg, labels, policy)), 1)
        return cls(
            profile,
            np.bincount(near, minlength=n_classes),
            np.bincount(near[strange], minlength=n_classes),
            margins,
        )

    def __add__(self, other: "Signs") -> "Signs":
        """Give the signs of both together."""
        return Signs(
            self.profile + other.profile,
            self.nearest + other.nearest,
            self.strange + other.strange,
            self.margins + other.margins,
        )

    def __sub__(self, other: "Signs") -> "Signs":
        """Take images back out: all of them but the last window are those before it."""
        return Signs(
            self.profile - other.profile,
            self.nearest - other.nearest,
            self.strange - other.strange,
            self.margins - other.margins,
        )


def _bins(margin: Floats, labels: Labels, policy: Policy) -> NDArray[np.intp]:
    middle = (policy.mean[0] - policy.mean[2])[labels]
    spread = np.hypot(policy.sigma[0], policy.sigma[2])[labels]
    away = (margin - middle) / np.where(spread > 0, spread, 1.0)
    cells: Floats = np.clip((away + WIDEST) * (BINS / (2 * WIDEST)), 0, BINS - 1)
    return cells.astype(np.intp)
