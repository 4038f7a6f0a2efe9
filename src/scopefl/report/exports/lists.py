"""The kept samples as a list: of paths, of rows of a table, of row numbers."""

import csv
import io
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from scopefl.core.order import Rows
from scopefl.data.batches import Coreset
from scopefl.report.collection import KEPT
from scopefl.report.exports.target import Target

COLUMNS = ["id", "path", "label"]


def indices(coreset: Coreset) -> Iterator[Rows]:
    """Give the row numbers of the kept samples, in order, for `select` or `Subset`.

    They number the rows of the source as it was scored, quarantined ones included.
    """
    start = 0
    for part in coreset.batches("fate"):
        yield start + np.flatnonzero(part.fate == KEPT)
        start += part.rows


def kept_rows(coreset: Coreset, target: Target) -> Iterator[dict[str, str]]:
    """Give id, place and label of the kept samples; the id stands in for a path that is missing."""
    for part in coreset.batches(*COLUMNS, "fate"):
        kept = part.table.filter(pa.array(part.fate == KEPT))
        for row in kept.select(COLUMNS).to_pylist():
            yield {**row, "path": target.locate(row["path"] or row["id"])}


def text_list(coreset: Coreset, target: Target) -> Iterator[str]:
    """Write a path a line."""
    return (f"{row['path']}\n" for row in kept_rows(coreset, target))


def csv_list(coreset: Coreset, target: Target) -> Iterator[str]:
    """Write a table with a heading."""
    line = io.StringIO()
    table = csv.DictWriter(line, COLUMNS, lineterminator="\n")
    table.writeheader()
    for row in kept_rows(coreset, target):
        table.writerow(row)
        yield line.getvalue()
        line.seek(0)
        line.truncate()
    yield line.getvalue()


def index_list(coreset: Coreset, _target: Target) -> Iterator[str]:
    """Write a JSON array of row numbers."""
    before = "["
    for rows in indices(coreset):
        if len(rows):
            yield before + ", ".join(map(str, rows.tolist()))
            before = ", "
    yield "]\n" if before == ", " else "[]\n"
