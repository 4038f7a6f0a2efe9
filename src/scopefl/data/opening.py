"""One opener for every collection scopefl reads."""

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from scopefl.data import hdf5, hub, pages, table, zarr
from scopefl.data.folder import FolderSource
from scopefl.data.names import shown
from scopefl.data.sequence import SequenceSource
from scopefl.data.shards import ShardSource
from scopefl.data.source import Source
from scopefl.errors import ScopeError

KNOWN = (
    "a folder of class folders, a .csv, .tsv or .parquet table, .tar shards, an HDF5 or NeXus "
    "file, a Zarr folder, a multi-page TIFF, a datasets.Dataset (also one saved to disk), or a "
    "dataset with len and indexing"
)


def open_source(what: Any, **options: Any) -> Source:
    """Return the collection that a path or an object is.

    Options belong to a kind: `path_column`, `label_column`, `root` (table); `image_column`,
    `label_column` (datasets.Dataset); `label_member` (tar); `array`, `label_array` (HDF5, Zarr);
    `label` (pages of one TIFF). One that is None counts as not given.
    """
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(what, str | os.PathLike):
        return _open_path(Path(what), given)
    if isinstance(what, Source):
        return _opened(lambda: what, "a source", given)
    if type(what).__module__.partition(".")[0] == "datasets":
        return _opened(hub.HubSource, "a datasets.Dataset", given, what)
    if hasattr(what, "__len__") and hasattr(what, "__getitem__"):
        return _opened(SequenceSource, "a dataset", given, what)
    raise ScopeError(f"images must be {KNOWN}; got a {type(what).__name__}")


def _open_path(path: Path, given: dict[str, Any]) -> Source:
    if not path.exists():
        raise ScopeError(f"there is no {shown(path)}")
    if path.is_dir():
        return _open_folder(path, given)
    suffix = path.suffix.lower()
    if suffix in table.SUFFIXES:
        return _opened(table.TableSource, "a table", given, path)
    if suffix == ".tar":
        return _opened(ShardSource, "a tar", given, [path])
    if suffix in hdf5.SUFFIXES:
        return _opened(hdf5.Hdf5Source, "an HDF5 file", given, path)
    if suffix in pages.SUFFIXES:
        return _opened(pages.PagesSource, "a TIFF", given, path)
    raise ScopeError(f"images must be {KNOWN}; got the file {shown(path)}")


def _open_folder(path: Path, given: dict[str, Any]) -> Source:
    try:
        inside = sorted(one for one in path.iterdir() if not one.name.startswith("."))
    except OSError as error:
        raise ScopeError(f"{shown(path)} cannot be listed: {error.strerror}") from None
    if any((path / mark).exists() for mark in zarr.MARKS):
        return _opened(zarr.ZarrSource, "a Zarr folder", given, path)
    if hub.is_saved(path):
        return _opened(hub.HubSource, "a datasets.Dataset", given, hub.from_disk(path))
    if inside and all(one.suffix == ".tar" for one in inside):
        return _opened(ShardSource, "a folder of tars", given, inside)
    return _opened(FolderSource, "a folder", given, path)


def _opened(kind: Callable[..., Source], called: str, given: dict[str, Any], *what: Any) -> Source:
    """Construct a source; an option it does not know is the user's mistake."""
    known = inspect.signature(kind).parameters
    strange = sorted(name for name in given if name not in known)
    if strange:
        raise ScopeError(f"{strange[0]} does not apply to {called}")
    return kind(*what, **given)
