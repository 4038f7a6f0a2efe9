"""What a site may tell of a collection that changes, so that no two tellings part few images.

Whoever keeps every profile a site ever told can subtract any of them from any other, not only each
from the next. So images come into what is told, and leave it, in groups of at least `least` that
share their whole history: came in one publication, left in one publication. Then all that sums and
differences of any publications can part is whole groups.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core import privacy
from scopefl.core.profile import Profile
from scopefl.core.release import Release
from scopefl.core.terms import MIN_CELL, OPEN, Terms
from scopefl.errors import RefusedError, ScopeError


@dataclass(frozen=True)
class Leaving:
    """Images that are gone from the collection and still told.

    All are of one class and came into what is told in one publication; of that group, `left` images
    are held still.
    """

    label: int
    gone: int
    left: int


@dataclass(frozen=True, eq=False)
class Publication:
    """What is told from now on, and for which classes (C,) it is new."""

    profile: Profile
    renewed: NDArray[np.bool_]


def next_publication(
    told: Profile | None,
    current: Profile,
    came: NDArray[np.integer],
    leaving: Sequence[Leaving] = (),
    least: int = MIN_CELL,
) -> Publication:
    """Tell each class anew whose changes part no fewer than `least` images; the others as before.

    `came` (C,) counts the images that are held and not yet told. An image that came and went
    between two publications is in neither `came` nor `leaving`.

    >>> current = Profile(np.array([4, 5]), np.zeros((3, 2), int), np.zeros((3, 2), int))
    >>> next_publication(None, current, came=np.array([4, 5])).profile.count.tolist()
    [0, 5]
    """
    if least < 1:
        raise ScopeError(f"--least must be at least 1 image, got {least}")
    told = told or Profile.empty(current.n_classes)
    gone = np.zeros(current.n_classes, np.int64)
    small = (came > 0) & (came < least)
    for group in leaving:
        gone[group.label] += group.gone
        small[group.label] |= group.gone < least or 0 < group.left < least
    _check_complete(told, current, came - gone)
    renewed = ~small & ((came > 0) | (gone > 0))
    return Publication(privacy.where(current, renewed) + privacy.where(told, ~renewed), renewed)


def _check_complete(told: Profile, current: Profile, grown: NDArray[np.integer]) -> None:
    missed = current.count - told.count != grown
    if missed.any():
        c = int(missed.argmax())
        raise ScopeError(
            f"what came and left must explain how a class changed, but class {c} was told with "
            f"{told.count[c]} images, holds {current.count[c]}, and {grown[c]} are accounted for; "
            "rebuild the state from the images"
        )


def message(told: Profile, terms: Terms = OPEN, fingerprint: bytes = b"") -> bytes:
    """Give the file that leaves the site, where the mode shares profiles as they are.

    Masked and noisy profiles are answers to a call: masks cancel within one round only, and noise
    that is drawn again at every publication is averaged away.
    """
    if terms.masked or terms.noisy:
        raise RefusedError(
            f"{terms.mode} shares in rounds that a coordinator calls, not whenever enough images "
            "came; answer a call with scope profile --call, or publish in open or min-cell"
        )
    if terms.mode == "open":
        return told.to_bytes(fingerprint)
    rows = privacy.to_rows(privacy.fold(told, terms.min_cell))[:-1]
    return Release(terms, fingerprint, rows).to_bytes()
