"""HDF5 and NeXus files: the array a file marks as its signal, or the one that is named."""

from functools import partial
from pathlib import Path
from typing import Any

from scopefl.data.arrays import ArraySource, choose, require
from scopefl.data.names import shown
from scopefl.errors import ScopeError

SUFFIXES = (".h5", ".hdf5", ".he5", ".nxs", ".nx", ".nx5")


class Hdf5Source(ArraySource):
    """The pictures along the first axis of one dataset of an HDF5 file."""

    def __init__(
        self,
        path: Path,
        *,
        array: str | None = None,
        label_array: str | None = None,
        growing: bool = False,
    ) -> None:
        try:
            import h5py  # noqa: F401
        except ImportError:
            raise ScopeError('HDF5 files need: pip install "scopefl[hdf5]"') from None
        try:
            with _opened(path) as root:
                found = [_signal(root)] if _signal(root) else _images(root)
                chosen = choose([one for one in found if one], array, shown(path.name))
                require(root, chosen, shown(path.name))
        except OSError as error:
            raise ScopeError(f"{shown(path)} cannot be opened as HDF5: {error}") from None
        super().__init__(path, partial(_opened, path), chosen, label_array, growing)


def _opened(path: Path) -> Any:
    """Open a file as a reader beside one writer (SWMR), which reads any other file as well."""
    import h5py

    return h5py.File(path, "r", swmr=True)


def _signal(root: Any) -> str | None:
    """Follow NeXus's `default` attributes from the root to the signal of an NXdata group."""
    group = root
    for _ in range(8):
        signal = _text(group.attrs.get("signal"))
        if signal and signal in group:
            return str(group[signal].name)
        default = _text(group.attrs.get("default"))
        if not default or default not in group:
            return None
        group = group[default]
    return None


def _images(root: Any) -> list[str]:
    """Return every dataset that an NXdata group marks, or else every one with three axes."""
    marked: list[str] = []
    stacks: list[str] = []

    def visit(name: str, node: Any) -> None:
        signal = _text(node.attrs.get("signal"))
        if hasattr(node, "shape"):
            if node.ndim >= 3 and node.dtype.kind in "buif":
                stacks.append(name)
        elif signal and signal in node:
            marked.append(f"{name}/{signal}")

    root.visititems(visit)
    return marked or stacks


def _text(value: Any) -> str | None:
    return value.decode() if isinstance(value, bytes) else value if isinstance(value, str) else None
