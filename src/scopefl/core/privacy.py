"""What a profile gives away is cut down here: small classes held back, sums as a plain vector."""

import numpy as np
from numpy.typing import NDArray

from scopefl.core.profile import MAX_COUNT, Profile
from scopefl.core.terms import MIN_SITES
from scopefl.errors import RefusedError

ROWS = 8
"""Count, three sums, three squares, and 1 where the site holds the class."""


def fold(profile: Profile, min_cell: int) -> Profile:
    """Give the profile without the classes of fewer than `min_cell` samples.

    >>> counted = Profile(np.array([4, 5]), np.zeros((3, 2), int), np.zeros((3, 2), int))
    >>> fold(counted, 5).count.tolist()
    [0, 5]
    """
    return where(profile, profile.count >= min_cell)


def where(profile: Profile, kept: NDArray[np.bool_]) -> Profile:
    """Give the profile of some classes (C,) alone, the others absent."""
    return Profile(profile.count * kept, profile.sums * kept, profile.squares * kept)


def to_rows(profile: Profile) -> NDArray[np.int64]:
    """Give the integers of one site to be added up, (8, C)."""
    held = (profile.count > 0).astype(np.int64)
    return np.concatenate([profile.count[None], profile.sums, profile.squares, held[None]])


def from_total(
    total: NDArray[np.int64], sites: int, max_count: int = MAX_COUNT
) -> tuple[Profile, NDArray[np.int64]]:
    """Read added-up rows (8, C): the profile and its holders; refuse what masks left behind."""
    profile, holders = Profile(total[0], total[1:4], total[4:7]), total[7]
    possible = (holders >= 0) & (holders <= sites)
    possible &= (holders <= profile.count) & ((holders > 0) == (profile.count > 0))
    if not possible.all():
        raise RefusedError(
            "the masked profiles do not add up to any collection: a site is missing, or one masked "
            "for another roster; start a new attempt with new keys"
        )
    profile.check(max_count)
    return profile, holders


def published(
    profile: Profile, holders: NDArray[np.int64], least: int = MIN_SITES
) -> tuple[Profile, NDArray[np.int64]]:
    """Give what may be told to all: the classes that at least `least` sites hold."""
    enough = holders >= least
    return where(profile, enough), holders * enough
