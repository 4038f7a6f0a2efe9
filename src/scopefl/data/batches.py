"""Tables of ours too large for memory: their rows a batch at a time."""

from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from scopefl.core.profile import Profile
from scopefl.core.scores import Labels, Scores
from scopefl.data.coreset_file import CORESET_COLUMNS, FATES, CoresetFile, read_coreset
from scopefl.data.scores_file import (
    CLASS,
    SCORE_COLUMNS,
    ScoresFile,
    check_about,
    fitted,
    read_scores,
    reading,
)

T = TypeVar("T")

LARGE = 2_000_000
"""A table of more rows than this is not read into memory as a whole."""
BATCH = 1 << 18

LABELS = ("label", "status")
NUMBERS = (*LABELS, "rs", "ds", "s_neg", "rival")


@dataclass(frozen=True)
class ScoresTable:
    """A scores file whose rows stay on disk: what it says of itself, and how many rows it has."""

    path: Path
    classes: tuple[str, ...]
    fingerprint: bytes
    settings: Mapping[str, Any]
    rows: int

    @classmethod
    def open(cls, path: Path) -> "ScoresTable":
        """Check a scores file without reading its rows."""
        about = check_about(path, "scores", SCORE_COLUMNS)
        return cls(path, *about, rows=count_rows(path))

    def batches(self, *columns: str) -> Iterator[ScoresFile]:
        """Give the rows in order, a batch at a time, with some columns (all if none is named)."""
        wanted = {name: SCORE_COLUMNS[name] for name in columns or SCORE_COLUMNS}
        hidden = "rival" in wanted and not self._has_rivals
        for table in read_batches(self.path, "scores", wanted):
            if hidden:
                nothing = pa.nulls(table.num_rows, CLASS)
                table = table.set_column(list(wanted).index("rival"), "rival", nothing)
            yield ScoresFile(table, self.classes, self.fingerprint, self.settings)

    @property
    def parts(self) -> Iterator[tuple[Scores, Labels]]:
        """Give scores and labels of the scored rows, a batch at a time."""
        return ((file.scores, file.labels) for file in ahead(self.batches(*NUMBERS)))

    @property
    def quarantined(self) -> pa.Table:
        """Give id, path, label and reason of the rows that could not be scored."""
        parts = self.batches("id", "path", "label", "status", "reason")
        return pa.concat_tables([part.quarantined for part in parts], promote_options="default")

    @cached_property
    def profile(self) -> Profile:
        """Sum up the scored rows."""
        return Profile.of_parts(self.parts, len(self.classes))

    @cached_property
    def _has_rivals(self) -> bool:
        # As in memory: where one scored row lacks its rival, no rival is used.
        with reading(self.path, "scores"):
            file = pq.ParquetFile(self.path)
            place = file.schema_arrow.get_field_index("rival")
            groups = [file.metadata.row_group(g) for g in range(file.num_row_groups)]
            statistics = [group.column(place).statistics for group in groups]
        if all(one is not None and one.null_count == 0 for one in statistics):
            return True
        wanted = {name: SCORE_COLUMNS[name] for name in ("rival", "status")}
        tables = read_batches(self.path, "scores", wanted)
        parts = (ScoresFile(table, self.classes, b"").scored for table in tables)
        return all(part["rival"].null_count == 0 for part in parts)


@dataclass(frozen=True)
class CoresetTable:
    """A coreset file whose rows stay on disk: what it says of itself, and how many rows it has."""

    path: Path
    classes: tuple[str, ...]
    fingerprint: bytes
    settings: Mapping[str, Any]
    rows: int

    @classmethod
    def open(cls, path: Path) -> "CoresetTable":
        """Check a coreset file without reading its rows."""
        about = check_about(path, "coreset", CORESET_COLUMNS)
        return cls(path, *about, rows=count_rows(path))

    def batches(self, *columns: str) -> Iterator[CoresetFile]:
        """Give the rows in order, a batch at a time, with some columns (all if none is named)."""
        wanted = {name: CORESET_COLUMNS[name] for name in columns or CORESET_COLUMNS}
        for table in ahead(read_batches(self.path, "coreset", wanted)):
            yield CoresetFile(table, self.classes, self.fingerprint, self.settings)

    @cached_property
    def profile(self) -> Profile:
        """Sum up the scored rows."""
        parts = (part for file in self.batches() for part in file.scores_file.parts)
        return Profile.of_parts(parts, len(self.classes))

    @cached_property
    def fates(self) -> dict[str, int]:
        """Count the samples of each fate."""
        found = Counter[str]()
        for part in self.batches("fate"):
            found.update(part.fates)
        return {fate: found[fate] for fate in FATES}


Coreset = CoresetFile | CoresetTable


def open_coreset(path: Path) -> Coreset:
    """Read a coreset file, or leave its rows on disk where they are too many."""
    return CoresetTable.open(path) if is_large(path) else read_coreset(path)


def open_scores(path: Path) -> ScoresFile | ScoresTable:
    """Read a scores file, or leave its rows on disk where they are too many."""
    return ScoresTable.open(path) if is_large(path) else read_scores(path)


def is_large(path: Path) -> bool:
    """Tell whether a table of ours should stay on disk."""
    return count_rows(path) > LARGE


def count_rows(path: Path) -> int:
    """Give the number of rows of a table of ours."""
    with reading(path, "table"):
        return int(pq.read_metadata(path).num_rows)


def read_batches(
    path: Path, kind: str, columns: Mapping[str, pa.DataType], size: int = 0
) -> Iterator[pa.Table]:
    """Give the rows of a table of ours in order, at most `size` at a time."""
    with reading(path, kind), pq.ParquetFile(path, pre_buffer=False) as file:
        for batch in file.iter_batches(size or BATCH, columns=list(columns)):
            yield fitted(pa.Table.from_batches([batch]), columns)


def ahead(items: Iterator[T]) -> Iterator[T]:
    """Make the next item while the last one is worked on.

    >>> list(ahead(iter("abc")))
    ['a', 'b', 'c']
    """
    with ThreadPoolExecutor(1) as other:
        coming = other.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = other.submit(next, items, None)
            yield item
