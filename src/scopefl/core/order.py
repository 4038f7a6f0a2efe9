"""Which samples are the highest: exact counts, and ties that never depend on the order of files."""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import Floats, Labels
from scopefl.errors import ScopeError

Decimal = float | str
Rows = NDArray[np.intp]
Ids = NDArray[Any]


def exact(name: str, value: Decimal, *, one_allowed: bool = False) -> Fraction:
    """Give the decimal the user wrote as an exact fraction in [0, 1).

    >>> exact("p_l", 0.7) * 90
    Fraction(63, 1)
    """
    try:
        fraction = Fraction(str(value))
    except (ValueError, ZeroDivisionError):
        raise ScopeError(f"{name} must be a number, got {value!r}") from None
    if not (0 <= fraction < 1 or (one_allowed and fraction == 1)):
        limit = "at most 1" if one_allowed else "below 1"
        raise ScopeError(f"{name} must be at least 0 and {limit}, got {value}")
    return fraction


def highest(count: int, keys: Sequence[Floats], ids: Ids, rows: Rows) -> Rows:
    """Give the `count` of `rows` that are highest by the first key, then the next, then lowest id.

    >>> keys = [np.array([1.0, 3.0, 1.0]), np.array([0.0, 0.0, 5.0])]
    >>> highest(2, keys, np.array(["a", "b", "c"]), np.arange(3))
    array([1, 2])
    """
    if count <= 0:
        return rows[:0]
    if count >= len(rows):
        return rows
    if not keys:
        return rows[np.argsort(ids[rows], kind="stable")[:count]]
    key = keys[0][rows]
    cut = np.partition(key, len(key) - count)[len(key) - count]
    above = rows[key > cut]
    level = highest(count - len(above), keys[1:], ids, rows[key == cut])
    return np.concatenate([above, level])


def ranked(keys: Sequence[Floats], ids: Ids, rows: Rows) -> Rows:
    """Give all `rows`, highest first by the keys in turn, then lowest id first.

    >>> ranked([np.array([1.0, 3.0, 1.0])], np.array([7, 8, 5]), np.arange(3))
    array([1, 2, 0])
    """
    first = -keys[0][rows]
    order = np.argsort(first, kind="stable")
    if (np.diff(first[order]) == 0).any():
        order = np.lexsort((ids[rows], *(-key[rows] for key in reversed(keys))))
    return rows[order]


def evenly(rows: Rows, count: int) -> Rows:
    """Take `count` of the rows at even steps, the ends spared alike.

    >>> evenly(np.arange(10), 3)
    array([1, 5, 8])
    """
    return rows[even_places(len(rows), count, 0, len(rows))]


def even_places(n: int, count: int, start: int, stop: int) -> Rows:
    """Give those of the `count` even places among n that are in start..stop-1.

    >>> even_places(10, 3, 2, 9)
    array([5, 8])
    """
    if not count:
        return np.zeros(0, np.intp)
    first, last = (count * end // n for end in (start, stop))
    steps = np.arange(max(first - 1, 0), min(last + 1, count))
    places = (2 * steps + 1) * n // (2 * count)
    return places[(places >= start) & (places < stop)]


def by_class(labels: Labels, n_classes: int) -> list[Rows]:
    """Give the rows of each class, in their order.

    >>> by_class(np.array([1, 0, 1]), 3)
    [array([1]), array([0, 2]), array([], dtype=int64)]
    """
    # A 16-bit key sorts by radix, in time proportional to N.
    key = labels.astype(np.uint16) if n_classes <= 1 << 16 else labels
    order = np.argsort(key, kind="stable")
    ends = np.cumsum(np.bincount(np.asarray(labels, np.intp), minlength=n_classes))
    return np.split(order, ends[:-1])


def check_ids(ids: Sequence[Any] | Ids | None, n: int) -> Ids:
    """Give one distinct id a sample as an array; the row number where none are given."""
    if ids is None:
        return np.arange(n)
    ids = np.asarray(ids)
    if ids.shape != (n,):
        raise ScopeError(f"ids must have one entry a sample, ({n},), got shape {ids.shape}")
    if len(set(ids.tolist())) < n:
        twice = next(name for name, times in Counter(ids.tolist()).items() if times > 1)
        raise ScopeError(f"ids must be distinct, got {twice!r} more than once; name each sample")
    return ids
