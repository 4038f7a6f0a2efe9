"""The books of what a stream has told: which images, when, and which of them are gone since."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.core.envelope import LARGEST
from scopefl.core.profile import Profile
from scopefl.core.terms import MIN_CELL, Terms
from scopefl.data.files import read_bytes, write_bytes
from scopefl.stream.publishing import Leaving, message, next_publication
from scopefl.stream.state import State

GROUPS = (
    "select label, told, count(*) from images where told is not null group by label, told "
    "union all select label, told, held from beyond where told > 0"
)
UNTOLD = (
    "select label, count(*) from images where key is not null and told is null group by label "
    "union all select label, held from beyond where told = 0"
)

SETTLED = (
    "delete from beyond where label = ?1 and told > 0 and told not in "
    "(select told from images where label = ?1 and told is not null)"
)
"""Groups of which no image can leave any more: none of them has a row that names it."""


def publish(state: State, path: Path, terms: Terms, least: int = MIN_CELL) -> list[int]:
    """Tell of each class whose changes are of enough images, in a file; give these classes.

    The books are written first. A stream that is killed between the two has the file to write yet,
    and never counts as untold what may have been read.
    """
    with state.change():
        renewed = _enter(state, least)
        told = state.about("told")
        profile = Profile.empty(state.n_classes) if told is None else Profile.from_bytes(told)
        data = message(profile, terms, state.owner.fingerprint)
    if not path.exists() or read_bytes(path, LARGEST) != data:
        write_bytes(path, data)
    return renewed


def _enter(state: State, least: int) -> list[int]:
    before = state.about("told")
    told = None if before is None else Profile.from_bytes(before)
    now = next_publication(told, state.profile, _untold(state), _leaving(state), least)
    renewed = np.flatnonzero(now.renewed).tolist()
    if renewed:
        number = state.about("publications", 0) + 1
        state.set_about("publications", number)
        state.set_about("told", now.profile.to_bytes(state.owner.fingerprint))
        numbered = [(number, c) for c in renewed]
        state.tell(
            "update images set told = ? where told is null and key is not null and label = ?",
            numbered,
        )
        state.tell("update beyond set told = ? where told = 0 and label = ?", numbered)
        state.tell("delete from leaving where label = ?", [(c,) for c in renewed])
        state.tell(SETTLED, [(c,) for c in renewed])
    return renewed


def _untold(state: State) -> NDArray[np.int64]:
    came = np.zeros(state.n_classes, np.int64)
    for label, count in state.ask(UNTOLD):
        came[label] += count
    return came


def _leaving(state: State) -> list[Leaving]:
    left: dict[tuple[int, int], int] = {}
    for label, told, count in state.ask(GROUPS):
        left[label, told] = left.get((label, told), 0) + count
    gone = state.ask("select label, told, gone from leaving")
    return [Leaving(label, n, left.get((label, told), 0)) for label, told, n in gone]
