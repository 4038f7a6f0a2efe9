"""What every collection of images looks like to the rest of scopefl."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True)
class Item:
    """One input before it is decoded: reading it is deferred and may fail on its own.

    `read()` gives the raw input: the bytes of a file, an array (any dtype, 2-d to 4-d), or a PIL
    image. Decoding rules turn that into pixels, later and elsewhere.
    """

    id: str
    path: str
    label: str | None
    read: Callable[[], Any]
    file: Path | None = None
    """Where the bytes lie, if the item is one whole file: its change time tells of changes."""


@runtime_checkable
class Source(Protocol):
    """A collection: a fixed, repeatable sequence of items with distinct ids."""

    name: str
    classes: tuple[str, ...] | None
    """The class names the source itself knows, in its order, else None."""

    def __len__(self) -> int:
        """Say how many items there are."""
        ...

    def __iter__(self) -> Iterator[Item]:
        """Give the items in a fixed order; an unreadable one is given too and fails on `read`."""
        ...
