"""One TIFF whose pages are pictures of their own."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from scopefl.data.ifd import check_chain
from scopefl.data.names import shown
from scopefl.data.source import Item
from scopefl.data.tiff import MAGIC, read_page
from scopefl.data.unreadable import Unreadable
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
            with path.open("rb") as stream:
                if stream.read(4) not in MAGIC:
                    raise ScopeError(f"{shown(path)} is not a TIFF")
                stream.seek(0)
                self._count = check_chain(stream)
        except OSError as error:
            raise ScopeError(f"{shown(path)} cannot be opened: {error.strerror}") from None
        except Unreadable as unreadable:
            raise ScopeError(f"{shown(path)}: {unreadable.reason}") from None

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Item]:
        for number in range(self._count):
            name = f"{self.name}/page-{number:06}"
            yield Item(name, name, self._label, partial(self._read, number))

    def _read(self, number: int) -> Any:
        return read_page(self._path, number)
