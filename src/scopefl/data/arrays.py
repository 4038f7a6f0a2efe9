"""Pictures along the first axis of an HDF5, NeXus or Zarr array."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scopefl.data.names import shown
from scopefl.data.source import Item
from scopefl.data.unreadable import Unreadable
from scopefl.errors import ScopeError

LARGEST_PICTURE = 1 << 30
"""Bytes of one picture that are loaded; more than any cap of pixels allows."""


class ArraySource:
    """The slices of one array; labels from a second array of the same length, if it is named."""

    classes: tuple[str, ...] | None = None

    def __init__(
        self,
        path: Path,
        opened: Callable[[], AbstractContextManager[Any]],
        array: str,
        label_array: str | None,
        growing: bool = False,
    ) -> None:
        """While arrays are `growing`, a picture counts from when it has its label."""
        self.name = shown(path.name)
        self.path = path
        self.array = array
        self._opened = opened
        with opened() as root:
            values = root[array]
            check_numbers(values, array)
            self._single = len(values.shape) == 2
            self._count = 1 if self._single else int(values.shape[0])
            if growing and label_array is not None and label_array in root:
                self._count = min(self._count, *root[label_array].shape)
            self._labels = _labels(root, label_array, self._count, growing)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        for number in range(self._count):
            name = f"{self.array.strip('/')}/{number:08}"
            label = None if self._labels is None else self._labels[number]
            yield Item(name, f"{self.name}:{name}", label, partial(self._read, number))

    def _read(self, number: int) -> Any:
        with self._opened() as root:
            values = root[self.array]
            shape = values.shape if self._single else values.shape[1:]
            if int(np.prod(shape, dtype=object)) * values.dtype.itemsize > LARGEST_PICTURE:
                raise Unreadable(f"a picture of shape {tuple(shape)} is too large to load")
            return np.asarray(values[()] if self._single else values[number])


def check_numbers(values: Any, array: str) -> None:
    """Refuse an array that cannot be pictures, before anything of it is read."""
    if values.dtype.kind not in "buif" or len(values.shape) < 2:
        raise ScopeError(
            f"array {array!r} must hold numbers in at least two axes, it holds {values.dtype} of "
            f"shape {tuple(values.shape)}"
        )


def choose(found: list[str], given: str | None, name: str) -> str:
    """Return the array that was asked for, or the only one there is."""
    if given is not None:
        return given
    if len(found) == 1:
        return found[0]
    listed = ", ".join(sorted(found)[:10]) or "none of numbers in three axes"
    raise ScopeError(f"{name} holds several arrays or none, name one with --array: {listed}")


def require(root: Any, array: str, name: str) -> None:
    """Refuse the name of an array that is not there."""
    if array not in root or not hasattr(root[array], "shape"):
        raise ScopeError(f"{name} has no array {array!r} (--array)")


def _labels(
    root: Any, label_array: str | None, count: int, growing: bool
) -> list[str | None] | None:
    if label_array is None:
        return None
    if label_array not in root:
        raise ScopeError(f"there is no array {label_array!r} (--label-array)")
    values = root[label_array]
    if values.shape != (count,) and not (growing and len(values.shape) == 1):
        raise ScopeError(
            f"array {label_array!r} must have one label a picture ({count}), it has shape "
            f"{tuple(values.shape)}"
        )
    cells = np.asarray(values[:count]).tolist()
    texts = [cell.decode() if isinstance(cell, bytes) else str(cell) for cell in cells]
    return [text or None for text in texts]
