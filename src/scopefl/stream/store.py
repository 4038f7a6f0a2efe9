"""A bounded store: of each class the images of the lowest lots, as many as the one level allows.

The level never rises while images come, and lots are drawn from the ids alone. So what is dropped
would not have been wanted again: the store is the same in whatever order its images came, and it is
an even sample of its class.
"""

import numpy as np
from numpy.typing import NDArray

from scopefl.core.budget import levelled
from scopefl.core.fates import Counts
from scopefl.core.scores import Labels
from scopefl.stream.deciding import lot
from scopefl.stream.ledger import let_go, rows_where
from scopefl.stream.state import State


def members(ids: list[str], labels: Labels, seen: Counts, most: int) -> NDArray[np.bool_]:
    """Mark which of these (N,) are in a store of `most` images, of `seen` (C,) that came.

    >>> members(["a", "b", "c"], np.array([0, 0, 1]), np.array([2, 1]), most=2).sum()
    np.int64(2)
    """
    quota = np.array([int(level) for level in levelled(seen, most)], np.int64)
    order = np.lexsort((np.array([lot(one) for one in ids]), labels))
    here = np.bincount(labels, minlength=len(seen))
    rank = np.arange(len(ids)) - np.repeat(np.cumsum(here) - here, here)
    member = np.empty(len(ids), np.bool_)
    member[order] = rank < np.repeat(quota, here)
    return member


def trim(state: State, most: int, recent: int) -> None:
    """Drop from the store, inside a change, what is beyond `most` and not of the `recent` last."""
    last = state.about("number", 0) - recent
    rows = state.ask("select id, label, number from images where stored and key is not null")
    ids, labels, numbers = zip(*rows, strict=True) if rows else ((), (), ())
    member = members(list(ids), np.array(labels, np.int32), state.profile.count, most)
    gone = ~member & (np.array(numbers, np.int64) <= last)
    state.tell(
        "update images set stored = 0, path = null, chance = null where id = ?",
        [(ids[place],) for place in np.flatnonzero(gone).tolist()],
    )
    let_go(state, rows_where(state, "key is null and number <= ?", last))
