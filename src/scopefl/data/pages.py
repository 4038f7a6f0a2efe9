"""One TIFF whose pages are pictures of their own."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import tifffile

from scopefl.data.names import shown
from scopefl.data.source import Item
from scopefl.data.tiff import read_page
from scopefl.errors import ScopeError

SUFFIXES = {".tif", ".tiff", ".btf", ".tf8"}


class PagesSource:
    """The pages of a multi-page or OME-TIFF, in file order, all with one label."""

    classes: tuple[str, ...] | None = None

    def __init__(self, path: Path, *, label: str | None = None) -> None:
        self.name = shown(path.name)
        self._path = path
        self._label = label
        try:
            with tifffile.TiffFile(path) as tiff:
                self._count = len(tiff.pages)
        except (OSError, ValueError, tifffile.TiffFileError) as error:
            raise ScopeError(f"{shown(path)} cannot be opened as TIFF: {error}") from None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        for number in range(self._count):
            name = f"{self.name}/page-{number:06}"
            yield Item(name, name, self._label, partial(self._read, number))

    def _read(self, number: int) -> Any:
        return read_page(self._path, number)
