"""A histogram a group: where the cut between the highest and the rest must lie."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core.order import Rows
from scopefl.core.scores import Floats, Labels

SPAN = 2.0
"""What rules order by lies in -2..2: it is made of clipped z."""
MOST = 1 << 22
LEAST_A_GROUP, MOST_A_GROUP = 4, 1 << 16


@dataclass(frozen=True)
class Cut:
    """Per group (G,): all cells above `cell` are among the highest, and `needed` of those in it."""

    cell: NDArray[np.int64]
    needed: NDArray[np.int64]


class Cells:
    """Counts values by group and cell; a higher value is never in a lower cell.

    >>> cells = Cells(1)
    >>> cells.add(np.zeros(4, int), np.array([0.9, 0.1, 0.9, 0.5]))
    >>> cut = cells.cut(np.array([3]))
    >>> cells.cell(np.array([0.5])) == cut.cell, cut.needed
    (array([ True]), array([1]))
    """

    def __init__(self, groups: int) -> None:
        self._each = min(MOST_A_GROUP, max(LEAST_A_GROUP, MOST // max(groups, 1)))
        self._count = np.zeros(groups * self._each, np.int64)

    def cell(self, values: Floats) -> Rows:
        """Give the cell of each value."""
        scaled = (np.asarray(values, np.float64) + SPAN) * (self._each / (2 * SPAN))
        return np.minimum(scaled.astype(np.intp), self._each - 1)

    def add(self, group: Labels, values: Floats) -> None:
        """Count values, each in its group."""
        np.add.at(self._count, group * self._each + self.cell(values), 1)

    def cut(self, highest: NDArray[np.int64]) -> Cut:
        """Find the cell in which the `highest` (G,) values of each group end."""
        falling = self._count.reshape(-1, self._each)[:, ::-1].cumsum(axis=1)
        groups = np.arange(len(falling))
        short = (falling < highest[:, None]).sum(axis=1)
        above = np.where(short > 0, falling[groups, short - 1], 0)
        needed = np.where(short < self._each, highest - above, 0)
        return Cut(self._each - 1 - short, needed)
