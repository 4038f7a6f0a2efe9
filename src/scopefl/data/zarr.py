"""Zarr stores in a folder, version 2 or 3; zarr itself refuses pickled chunks since 3.1."""

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
        super().__init__(path, lambda: nullcontext(root), chosen, label_array)


def _stacks(group: Any) -> list[str]:
    import zarr

    members = group.members(max_depth=None)
    return [name for name, one in members if isinstance(one, zarr.Array) and one.ndim >= 3]
