"""More rows than memory holds, put in the order of a rule: sorted runs on disk, side by side."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scopefl.core.order import Rows
from scopefl.core.scores import Floats, Labels

MOST = 1 << 21
"""So many rows are sorted at a time."""
STRIDE = 1 << 12
SCHEMA = pa.schema(
    [
        ("group", pa.int32()),
        ("first", pa.float64()),
        ("then", pa.float64()),
        ("id", pa.string()),
        ("row", pa.int64()),
    ]
)
ORDER = [(name, "ascending") for name in SCHEMA.names]

Place = tuple[Any, ...]


@dataclass(frozen=True)
class Block:
    """Rows in order: the group, place within the group and number of each (n,)."""

    group: NDArray[np.int32]
    place: NDArray[np.int64]
    row: Rows


class Sorter:
    """Orders rows by group, then the highest keys first, then the lowest id, as `ranked` does."""

    def __init__(self, folder: Path, most: int = 0) -> None:
        self._folder, self._most = folder, most or MOST
        self._stride = min(STRIDE, max(1, self._most // 16))
        self._waiting: list[pa.RecordBatch] = []
        self._runs: list[Path] = []
        self._sample: list[Place] = []

    def add(self, group: Labels, keys: Sequence[Floats], ids: pa.Array, row: Rows) -> None:
        """Take rows in; those that are too many for memory go to disk."""
        columns = [pa.array(group, pa.int32()), *(pa.array(-key) for key in keys)]
        columns += [ids.fill_null(""), pa.array(row)]
        self._waiting.append(pa.record_batch(columns, schema=SCHEMA))
        if sum(batch.num_rows for batch in self._waiting) >= self._most:
            self._spill()

    def blocks(self) -> Iterator[Block]:
        """Give all rows in order, a block at a time; the runs on disk are used up."""
        last, seen = -1, 0
        for table in self._in_order():
            group = table["group"].to_numpy()
            begins = np.flatnonzero(np.diff(group, prepend=-1))
            place = np.arange(len(group)) - np.repeat(begins, np.diff(begins, append=len(group)))
            if len(group):
                place[group == last] += seen
                last, seen = int(group[-1]), int(place[-1]) + 1
                yield Block(group, place, table["row"].to_numpy())

    def _in_order(self) -> Iterator[pa.Table]:
        if not self._runs:
            yield _sorted(self._waiting)
            return
        self._spill()
        runs = [_Run(path) for path in self._runs]
        for bound in (*self._bounds(), None):
            yield _sorted([batch for run in runs for batch in run.below(bound)])
        for path in self._runs:
            path.unlink()

    def _spill(self) -> None:
        """Write what is waiting as one sorted run."""
        table = _sorted(self._waiting)
        self._waiting = []
        path = self._folder / f"run-{id(self)}-{len(self._runs)}"
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, SCHEMA) as stream:
            for batch in table.to_batches(max_chunksize=self._stride):
                stream.write_batch(batch)
                self._sample.append(_place(batch, 0))
        self._runs.append(path)

    def _bounds(self) -> list[Place]:
        """Cut the order so that no more rows lie between two bounds than are sorted at a time.

        Between two neighbours of the sample, each run has at most one stride of rows.
        """
        step = max(1, self._most // self._stride - len(self._runs))
        return sorted(self._sample)[step::step]


class _Run:
    """One sorted run, read from its beginning to its end."""

    def __init__(self, path: Path) -> None:
        self._stream = pa.ipc.open_stream(pa.OSFile(str(path)))
        self._head: pa.RecordBatch | None = next(self._stream, None)

    def below(self, bound: Place | None) -> Iterator[pa.RecordBatch]:
        """Give the rows before a bound that were not given yet; all that are left for None."""
        while (batch := self._head) is not None:
            end = batch.num_rows
            if bound is not None and _place(batch, end - 1) >= bound:
                end = bisect_left(range(end), bound, key=partial(_place, batch))
            yield batch.slice(0, end)
            if end < batch.num_rows:
                self._head = batch.slice(end)
                return
            self._head = next(self._stream, None)


def _place(batch: pa.RecordBatch, i: int) -> Place:
    return tuple(column[i].as_py() for column in batch.columns)


def _sorted(batches: Sequence[pa.RecordBatch]) -> pa.Table:
    table = pa.Table.from_batches(batches, SCHEMA).combine_chunks()
    return table.take(pc.sort_indices(table, sort_keys=ORDER))
