"""A CSV, TSV or Parquet table with a column of paths and, if there is one, a column of labels."""

import math
import os
from collections.abc import Iterator
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

from scopefl.data.content import read_file
from scopefl.data.names import check_distinct, escape, shown
from scopefl.data.source import Item
from scopefl.data.unreadable import Unreadable, plain
from scopefl.errors import ScopeError

SUFFIXES = {".csv", ".tsv", ".parquet"}


class TableSource:
    """The pictures that the rows of a table name, relative to `root` or to the table's folder."""

    classes: tuple[str, ...] | None = None

    def __init__(
        self,
        table: Path,
        *,
        path_column: str = "path",
        label_column: str | None = None,
        root: Path | None = None,
    ) -> None:
        self.name = shown(table.name)
        self.root = Path(root) if root is not None else table.parent
        columns = _read_columns(table)
        paths = _texts(_column(columns, path_column, table, "--path-column"))
        if label_column is None and "label" not in columns:
            labels: list[str | None] = [None] * len(paths)
        else:
            labels = _texts(_column(columns, label_column or "label", table, "--label-column"))
        rows = [
            (path or f"row {number}", path, label)
            for number, (path, label) in enumerate(zip(paths, labels, strict=True), start=1)
        ]
        self._rows = sorted(rows, key=lambda row: _id(row[0]).encode())
        check_distinct((_id(row[0]) for row in self._rows), self.name)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Item]:
        for name, path, label in self._rows:
            file = None if path is None else self.root / path
            yield Item(_id(name), _id(name), label, partial(self._read, path), file)

    def _read(self, path: str | None) -> bytes:
        if path is None:
            raise Unreadable("the row names no path")
        return read_file(self.root / path)


def _id(text: str) -> str:
    return escape(os.fsencode(text))


def _read_columns(table: Path) -> dict[str, Any]:
    """Return the columns of a table by name; those of a CSV as the text that stands there."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        if table.suffix.lower() == ".parquet":
            found = parquet.ParquetFile(table).read()
        else:
            separator = "\t" if table.suffix.lower() == ".tsv" else ","
            parse = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
            with csv.open_csv(table, parse_options=parse) as head:
                text = {name: pa.string() for name in head.schema.names}
            convert = csv.ConvertOptions(column_types=text, strings_can_be_null=False)
            found = csv.read_csv(table, parse_options=parse, convert_options=convert)
    except (OSError, pa.ArrowException) as error:
        raise ScopeError(f"{shown(table)} cannot be read as a table: {plain(error)}") from None
    return dict(zip(found.column_names, found.columns, strict=True))


def _column(columns: dict[str, Any], name: str, table: Path, flag: str) -> Any:
    if name in columns:
        return columns[name]
    near = get_close_matches(name, columns, n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise ScopeError(
        f"{shown(table.name)} has no column {name!r}: it has {', '.join(columns)} ({flag}){meant}"
    )


def _texts(column: Any) -> list[str | None]:
    """Return cells as text, empty and missing ones as None."""
    return [_text(cell) for cell in column.to_pylist()]


def _text(cell: Any) -> str | None:
    missing = cell is None or cell == "" or (isinstance(cell, float) and math.isnan(cell))
    return None if missing else str(cell)
