"""The fates of more samples than memory holds: scores are read again for every step of a rule."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scopefl.core.fates import KEPT, REDUNDANT, Counts, Fate, Test
from scopefl.core.order import Rows, even_places
from scopefl.core.policy import Policy
from scopefl.core.scores import Labels, Scores
from scopefl.core.standard import Order, keys, redundancy, z_scores
from scopefl.data.batches import LABELS, NUMBERS, ScoresTable, ahead
from scopefl.data.cells import Cells
from scopefl.data.files import reserve
from scopefl.data.scores_file import ScoresFile
from scopefl.data.sorter import Sorter


@dataclass(frozen=True)
class Stretch:
    """Some scored rows in a run, from row number `start`, and their fates, which may be changed."""

    start: int
    file: ScoresFile
    fate: Fate
    policy: Policy

    @property
    def labels(self) -> Labels:
        """Give the class numbers."""
        return self.file.labels

    @cached_property
    def z(self) -> Scores:
        """Give the standardised scores."""
        return z_scores(self.file.scores, self.labels, self.policy)

    def passing(self, test: Test) -> NDArray[np.bool_]:
        """Mark the rows that pass a test."""
        return test(self.file.scores, self.policy, self.z)

    def sort(self, rows: Rows, group: Labels, of: Order, sorter: Sorter) -> None:
        """Hand some of the rows to a sorter, with their keys and ids."""
        ids = self.file.scored["id"].take(pa.array(rows)).combine_chunks()
        sorter.add(group, keys(of, self.z[rows]), ids, self.start + rows)


class FatesOnDisk:
    """The fates of a table's scored rows, a byte each in `folder`; memory does not grow with them.

    Of what a rule turns, most is told by a histogram; only the rows in the cell of the cut are
    sorted. Even places need the order of all rows: those are sorted on disk.
    """

    def __init__(self, table: ScoresTable, policy: Policy, folder: Path) -> None:
        self._table, self._policy, self._folder = table, policy, folder
        reserve(folder / "fates", table.rows)
        self._fate: Fate = np.memmap(folder / "fates", np.uint8, "r+")

    @property
    def policy(self) -> Policy:
        """Give what the samples are measured against."""
        return self._policy

    def stretches(self, *columns: str) -> Iterator[Stretch]:
        """Give the scored rows in order with some columns, a batch at a time."""
        start = 0
        for file in ahead(_decoded(self._table.batches(*columns))):
            fate = self._fate[start : start + len(file.labels)]
            yield Stretch(start, file, fate, self._policy)
            start += len(fate)

    def counts(self, fate: int) -> Counts:
        """Count the samples of a fate per class, (C,)."""
        return self.tally[:, fate]

    @property
    def tally(self) -> NDArray[np.int64]:
        """Count the samples per class and fate, (C, 3)."""
        n_classes = len(self._policy.weight)
        table = np.zeros(3 * n_classes, np.int64)
        for here in self.stretches(*LABELS):
            np.add.at(table, here.labels * 3 + here.fate, 1)
        return table.reshape(n_classes, 3)

    def turn(self, test: Test, fate: int, to: int) -> None:
        """Turn those of a fate that pass a test."""
        for here in self.stretches(*NUMBERS):
            here.fate[(here.fate == fate) & here.passing(test)] = to

    def turn_highest(
        self, count: Counts, of: Order, fate: int, to: int, test: Test | None = None
    ) -> None:
        """Turn the `count` (C,) highest of each class among those of a fate that pass the test."""
        self._turn(np.arange(len(count)), np.maximum(count, 0), of, fate, to, test)

    def turn_highest_of_all(self, count: int, of: Order, fate: int, to: int) -> None:
        """Turn the `count` highest of a fate, whatever their class."""
        together = np.zeros(len(self._policy.weight), np.intp)
        self._turn(together, np.array([max(count, 0)]), of, fate, to, None)

    def _turn(
        self, group_of: Rows, count: Counts, of: Order, fate: int, to: int, test: Test | None
    ) -> None:
        """Turn the highest of each group of classes: find the cell of the cut, then sort that."""
        if not count.any():
            return
        asked = count[group_of] > 0

        def candidates(here: Stretch) -> Rows:
            chosen = (here.fate == fate) & asked[here.labels]
            return np.flatnonzero(chosen if test is None else chosen & here.passing(test))

        cells = Cells(len(count))
        for here in self.stretches(*NUMBERS):
            rows = candidates(here)
            cells.add(group_of[here.labels[rows]], keys(of, here.z[rows])[0])
        cut = cells.cut(count)
        sorter = Sorter(self._folder)
        for here in self.stretches(*NUMBERS, "id"):
            rows = candidates(here)
            group = group_of[here.labels[rows]]
            cell = cells.cell(keys(of, here.z[rows])[0])
            here.fate[rows[cell > cut.cell[group]]] = to
            within = (cell == cut.cell[group]) & (cut.needed[group] > 0)
            here.sort(rows[within], group[within], of, sorter)
        for block in sorter.blocks():
            self._fate[block.row[block.place < cut.needed[block.group]]] = to

    def thin(self, count: Counts) -> None:
        """Keep at most `count` (C,) of each class's kept, evenly over R; the rest is redundant."""
        n = self.counts(KEPT)
        many = n > count
        if not many.any():
            return
        sorter = Sorter(self._folder)
        for here in self.stretches(*NUMBERS, "id"):
            rows = np.flatnonzero((here.fate == KEPT) & many[here.labels])
            some = rows[count[here.labels[rows]] > 0]
            here.sort(some, here.labels[some], redundancy, sorter)
            here.fate[rows] = REDUNDANT
        for block in sorter.blocks():
            begins = np.flatnonzero(np.diff(block.group, prepend=-1))
            for begin, end in zip(begins, (*begins[1:], len(block.group)), strict=True):
                c, first = int(block.group[begin]), int(block.place[begin])
                places = even_places(int(n[c]), int(count[c]), first, first + end - begin)
                self._fate[block.row[begin + places - first]] = KEPT


def _decoded(files: Iterator[ScoresFile]) -> Iterator[ScoresFile]:
    """Do what can be done in the thread that reads."""
    for file in files:
        _ = file.labels
        yield file
