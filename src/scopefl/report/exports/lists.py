"""The kept samples as a list: of paths, of rows of a table, of row numbers."""

import csv
import io
import json
from typing import Any

import numpy as np
import pyarrow as pa

from scopefl.data.coreset_file import CoresetFile
from scopefl.report.collection import KEPT, fates_of
from scopefl.report.exports.target import Target


def indices(coreset: CoresetFile) -> list[int]:
    """Give the row numbers of the kept samples, in order, for `select` or `Subset`.

    They number the rows of the source as it was scored, quarantined ones included.
    """
    rows: list[int] = np.flatnonzero(fates_of(coreset) == KEPT).tolist()
    return rows


def kept_rows(coreset: CoresetFile) -> list[dict[str, Any]]:
    """Give id, path and label of the kept samples; the id stands in for a path that is missing."""
    table = coreset.table.take(pa.array(indices(coreset), pa.int64()))
    rows: list[dict[str, Any]] = table.select(["id", "path", "label"]).to_pylist()
    return [{**row, "path": row["path"] or row["id"]} for row in rows]


def text_list(coreset: CoresetFile, target: Target) -> str:
    """Write a path a line."""
    return "".join(f"{target.locate(row['path'])}\n" for row in kept_rows(coreset))


def csv_list(coreset: CoresetFile, target: Target) -> str:
    """Write a table with a heading."""
    out = io.StringIO()
    table = csv.DictWriter(out, ["id", "path", "label"], lineterminator="\n")
    table.writeheader()
    for row in kept_rows(coreset):
        table.writerow({**row, "path": target.locate(row["path"])})
    return out.getvalue()


def index_list(coreset: CoresetFile, _target: Target) -> str:
    """Write a JSON array of row numbers."""
    return json.dumps(indices(coreset)) + "\n"
