"""The fates of samples under selection, and the few ways in which a rule may change them."""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scopefl.core.order import Ids, Rows, by_class, check_ids, evenly, highest, ranked
from scopefl.core.policy import Policy
from scopefl.core.scores import Labels, Scores, check_labels
from scopefl.core.standard import Marked, Order, keys, redundancy, z_scores

KEPT, ANOMALOUS, REDUNDANT = range(3)

Fate = NDArray[np.uint8]
Counts = NDArray[np.int64]
Test = Callable[[Scores, Policy, Scores], Marked]
"""From scores, policy and z to which samples pass."""


class Fates(Protocol):
    """Samples that are all kept at first; a rule turns some of one fate into another.

    Rules are written against this, so that they are the same for arrays and for tables on disk.
    """

    @property
    def policy(self) -> Policy:
        """Give what the samples are measured against."""

    def counts(self, fate: int) -> Counts:
        """Count the samples of a fate per class, (C,)."""

    def turn(self, test: Test, fate: int, to: int) -> None:
        """Turn those of a fate that pass a test."""

    def turn_highest(
        self, count: Counts, of: Order, fate: int, to: int, test: Test | None = None
    ) -> None:
        """Turn the `count` (C,) highest of each class among those of a fate that pass the test."""

    def turn_highest_of_all(self, count: int, of: Order, fate: int, to: int) -> None:
        """Turn the `count` highest of a fate, whatever their class."""

    def thin(self, count: Counts) -> None:
        """Keep at most `count` (C,) of each class's kept, evenly over R; the rest is redundant."""


class FatesInMemory:
    """The fates of samples whose scores are arrays: `fate` (N,)."""

    def __init__(
        self,
        scores: Scores,
        labels: Labels,
        policy: Policy,
        ids: Sequence[Any] | Ids | None = None,
        fate: Fate | None = None,
    ) -> None:
        self.labels = check_labels(labels, len(scores), len(policy.weight))
        self.ids = check_ids(ids, len(scores))
        self.scores, self.policy = scores, policy
        self.fate = np.zeros(len(scores), np.uint8) if fate is None else fate

    def counts(self, fate: int) -> Counts:
        """Count the samples of a fate per class, (C,)."""
        labels = np.asarray(self.labels[self.fate == fate], np.intp)
        return np.bincount(labels, minlength=len(self.policy.weight))

    def turn(self, test: Test, fate: int, to: int) -> None:
        """Turn those of a fate that pass a test."""
        self.fate[(self.fate == fate) & test(self.scores, self.policy, self._z)] = to

    def turn_highest(
        self, count: Counts, of: Order, fate: int, to: int, test: Test | None = None
    ) -> None:
        """Turn the `count` (C,) highest of each class among those of a fate that pass the test."""
        if not (count > 0).any():
            return
        by = keys(of, self._z)
        passing = None if test is None else test(self.scores, self.policy, self._z)
        for c in np.flatnonzero(count > 0).tolist():
            rows = self._rows(c, fate)
            rows = rows if passing is None else rows[passing[rows]]
            self.fate[highest(int(count[c]), by, self.ids, rows)] = to

    def turn_highest_of_all(self, count: int, of: Order, fate: int, to: int) -> None:
        """Turn the `count` highest of a fate, whatever their class."""
        if count > 0:
            rows = np.flatnonzero(self.fate == fate)
            self.fate[highest(count, keys(of, self._z), self.ids, rows)] = to

    def thin(self, count: Counts) -> None:
        """Keep at most `count` (C,) of each class's kept, evenly over R; the rest is redundant."""
        many = np.flatnonzero(self.counts(KEPT) > count).tolist()
        by = keys(redundancy, self._z) if many else ()
        for c in many:
            rows = ranked(by, self.ids, self._rows(c, KEPT))
            self.fate[rows] = REDUNDANT
            self.fate[evenly(rows, int(count[c]))] = KEPT

    @cached_property
    def _z(self) -> Scores:
        return z_scores(self.scores, self.labels, self.policy)

    @cached_property
    def _groups(self) -> list[Rows]:
        return by_class(self.labels, len(self.policy.weight))

    def _rows(self, c: int, fate: int) -> Rows:
        rows = self._groups[c]
        found: Rows = rows[self.fate[rows] == fate]
        return found
