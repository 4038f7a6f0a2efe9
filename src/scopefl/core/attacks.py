"""What a reader of profiles can work out: single scores, single images, somebody else's profile."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from scopefl.core.cells import UNIT
from scopefl.core.profile import Profile
from scopefl.core.scores import Floats

FEW = 3
"""Count, two moments of RS and the mean of DS make at most so many equations."""
GRID = 2048


@dataclass(frozen=True)
class Recovered:
    """The RS of every image of one class, in rising order, worked out of its moments."""

    label: int
    rs: Floats


def reconstruct(profile: Profile) -> list[Recovered]:
    """Give the scores of the classes of one, two or three samples, from their moments alone.

    >>> x = np.array([0.25, 0.5])
    >>> squares = np.stack([x**2, 1 - x**2, x**2]).sum(axis=1, keepdims=True)
    >>> sums = np.stack([x, np.sqrt(1 - x**2), x]).sum(axis=1, keepdims=True)
    >>> one = Profile(np.array([2]), np.int64(sums * UNIT), np.int64(squares * UNIT))
    >>> reconstruct(one)[0].rs.round(4)
    array([0.25, 0.5 ])
    """
    small = np.flatnonzero((profile.count > 0) & (profile.count <= FEW))
    return [Recovered(int(c), _scores(profile, int(c))) for c in small]


def _scores(profile: Profile, c: int) -> Floats:
    n, mean, sigma = int(profile.count[c]), profile.mean[0, c], profile.sigma[0, c]
    if n == 1:
        return np.array([mean])
    if n == 2:
        return np.array([mean - sigma, mean + sigma])
    # Three numbers of this mean and sigma lie on a circle; the mean of DS says where.
    angle = np.linspace(0, np.pi / 3, GRID)
    around = angle[:, None] + np.array([0, 2, 4]) * np.pi / 3
    x = np.clip(mean + np.sqrt(2) * sigma * np.cos(around), -1, 1)
    ds = np.sqrt(1 - x**2).sum(axis=1)
    best: Floats = np.sort(x[np.abs(ds - profile.sums[1, c] / UNIT).argmin()])
    return best


def added(before: Profile, after: Profile) -> Profile:
    """Give what came between two profiles of one site: with one image, that image."""
    return after - before


def between(told: Sequence[Profile]) -> list[Recovered]:
    """Take every two of what one site told at different times apart, and reconstruct from that.

    What came and what left cannot be told from each other where a class had both.
    """
    found = []
    for before, after in combinations(told, 2):
        change = np.sign(after.count - before.count)
        parts = [(a - b) * change for a, b in zip(after.arrays, before.arrays, strict=True)]
        found += reconstruct(Profile(parts[0], parts[1], parts[2]))
    return found


def of_the_others(told: Profile, own: Profile) -> Profile:
    """Give what others hold, out of what all were told and what the reader holds itself.

    With two sites, that is the other's profile; K - 1 sites together see that of the last one.
    Classes of which less was told than the reader holds were not told as they are: left out.
    """
    possible = told.count >= own.count
    kept = [np.where(possible, a - b, 0) for a, b in zip(told.arrays, own.arrays, strict=True)]
    return Profile(kept[0], kept[1], kept[2])


def is_member(profile: Profile, label: int, rs: float) -> bool:
    """Say whether a candidate image's score is, to its last digit, one that the profile holds."""
    candidates = [one.rs for one in reconstruct(profile) if one.label == label]
    return bool(candidates) and bool((np.abs(candidates[0] - rs) < 2.0 / UNIT).any())


def matches(found: Floats, truth: NDArray[np.floating], within: float = 0.01) -> bool:
    """Say whether scores that were worked out are the true ones, up to their order."""
    same = len(found) == len(truth)
    return same and bool(np.abs(np.sort(found) - np.sort(truth)).max(initial=0) <= within)
