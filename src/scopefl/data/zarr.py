"""Zarr stores in a folder, version 2 or 3."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

from scopefl.data.arrays import ArraySource, choose, require
from scopefl.data.names import shown
from scopefl.errors import ScopeError

MARKS = (".zarray", ".zgroup", "zarr.json")
ONLY = "array"
"""The name of the array in a store that is nothing but one array."""


class ZarrSource(ArraySource):
    """The pictures along the first axis of one array of a Zarr store."""

    def __init__(
        self, path: Path, *, array: str | None = None, label_array: str | None = None
    ) -> None:
        try:
            import zarr
        except ImportError:
            raise ScopeError('Zarr stores need: pip install "scopefl[zarr]"') from None
        try:
            opened = zarr.open(path, mode="r")
        except (OSError, ValueError, KeyError) as error:
            raise ScopeError(f"{shown(path)} cannot be opened as Zarr: {error}") from None
        root: Any = {ONLY: opened} if isinstance(opened, zarr.Array) else opened
        names = [ONLY] if isinstance(root, dict) else _stacks(root)
        chosen = choose(names, array, shown(path.name))
        require(root, chosen, shown(path.name))
        for name in (chosen, label_array):
            if name in root and "pickle" in codec_names(root[name].metadata.to_dict()):
                raise ScopeError(f"array {name!r} holds pickled chunks: reading would run code")
        super().__init__(path, lambda: nullcontext(root), chosen, label_array)


def codec_names(metadata: Any) -> set[str]:
    """Return the names of all codecs that an array's metadata declares.

    >>> sorted(codec_names({"filters": [{"id": "pickle"}], "codecs": [{"name": "bytes"}]}))
    ['bytes', 'pickle']
    """
    if isinstance(metadata, dict):
        own = {metadata[key] for key in ("id", "name") if isinstance(metadata.get(key), str)}
        return own.union(*(codec_names(one) for one in metadata.values()))
    if isinstance(metadata, list | tuple):
        return set().union(*(codec_names(one) for one in metadata))
    codec = getattr(metadata, "codec_id", None)
    return {codec} if isinstance(codec, str) else set()


def _stacks(group: Any) -> list[str]:
    import zarr

    members = group.members(max_depth=None)
    return [name for name, one in members if isinstance(one, zarr.Array) and one.ndim >= 3]
