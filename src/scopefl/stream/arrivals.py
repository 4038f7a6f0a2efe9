"""What is new in a folder: files that an instrument has written and left alone for a while."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Protocol

from scopefl.data.folder import FolderSource
from scopefl.data.source import Item
from scopefl.errors import ScopeError
from scopefl.stream.events import NS, Clock
from scopefl.stream.ledger import leave_to_the_sums, looks
from scopefl.stream.state import State
from scopefl.vision.embedding import AHEAD

MOST = 65_536
"""Files watched for stillness at once; what comes beyond them is found later, and no sooner old."""


@dataclass(frozen=True)
class Arriving:
    """An item, and how its file looked when it was found still."""

    item: Item
    look: bytes = b""


class Arrivals(Protocol):
    """Where images come from: looked at again and again."""

    trouble: str | None
    """Why the last look found nothing, where it could not look."""

    @property
    def moving(self) -> int:
        """Count what the last look found not still yet."""

    def still(self, *, all_of_them: bool = False) -> Iterator[Arriving]:
        """Look once, and give what is new or changed and still; or whatever is new or changed."""


class Given:
    """What a Python program gives, image by image, as soon as it does.

    It is read in a thread of its own, so that what came is decided while the next is waited for.
    """

    trouble: str | None = None

    def __init__(self, items: Iterable[Item]) -> None:
        self._waiting: Queue[Item | Exception | None] = Queue(AHEAD)
        self._failed: Exception | None = None
        self._ended = False
        Thread(target=self._read, args=(items,), daemon=True).start()

    @property
    def moving(self) -> int:
        """Say whether more may come."""
        return int(not self._ended)

    def still(self, *, all_of_them: bool = False) -> Iterator[Arriving]:  # noqa: ARG002
        """Give what is there now; what the program raised is raised when all before it is taken."""
        if self._failed is not None:
            raise self._failed
        with suppress(Empty):
            while isinstance(one := self._waiting.get_nowait(), Item):
                yield Arriving(one)
            self._failed, self._ended = one, one is None

    def _read(self, items: Iterable[Item]) -> None:
        try:
            for item in items:
                self._waiting.put(item)
            self._waiting.put(None)
        except Exception as error:
            self._waiting.put(error)


class FolderArrivals:
    """The files of a folder that are new or changed, each given once it has been still."""

    def __init__(self, root: Path, state: State, settle: float, clock: Clock) -> None:
        self.root, self.state, self.settle, self.clock = root, state, settle, clock
        self.trouble: str | None = None
        """Why the last look found nothing, where the folder cannot be looked into."""
        self._moving: dict[str, tuple[bytes, float]] = {}

    @property
    def moving(self) -> int:
        """Count the files that the last look found not still yet."""
        return len(self._moving)

    def still(self, *, all_of_them: bool = False) -> Iterator[Arriving]:
        """Look once, and give what is new or changed and still; or whatever is new or changed."""
        moving: dict[str, tuple[bytes, float]] = {}
        for item, before in self._known():
            found = _stat(item)
            look = _look(found)
            if before == look:
                continue
            if all_of_them or self._is_still(item.id, look, found):
                yield Arriving(item, look)
            elif len(moving) < MOST:
                first = self._moving.get(item.id, (b"", 0.0))
                moving[item.id] = first if first[0] == look else (look, self.clock.steady())
        self._moving = moving

    def _known(self) -> Iterator[tuple[Item, bytes | None]]:
        """Give each file that is there with how it looked before, and let go of the others."""
        known, there, gone = looks(self.state), set[str](), list[str]()
        last = next(known, None)
        for item in self._items():
            while last is not None and last[0] < item.id:
                gone += [last[0]] * (not last[2])
                last = next(known, None)
            there.add(_folder(item.id))
            same = last is not None and last[0] == item.id
            yield item, last[1] if last is not None and same else None
            if same:
                last = next(known, None)
        # A folder that holds nothing at all may only be away, and come back as it was.
        gone = [name for name in gone if _folder(name) in there]
        if gone:
            with self.state.change():
                leave_to_the_sums(self.state, gone)

    def _items(self) -> Iterable[Item]:
        try:
            self.trouble, found = None, FolderSource(self.root)
        except ScopeError as error:
            self.trouble = str(error)
            return ()
        return found

    def _is_still(self, name: str, look: bytes, found: os.stat_result | None) -> bool:
        """Say whether a file was left alone: by its change time, or watched by the steady clock.

        The wall clock may jump. A file that is taken too early is taken again when it changes.
        """
        if found is None or self.clock.wall() - found.st_ctime_ns >= self.settle * NS:
            return True
        before, since = self._moving.get(name, (b"", 0.0))
        return before == look and self.clock.steady() - since >= self.settle


def _folder(name: str) -> str:
    return name.rpartition("/")[0]


def _stat(item: Item) -> os.stat_result | None:
    try:
        return None if item.file is None else item.file.stat()
    except (OSError, ValueError):
        return None


def _look(found: os.stat_result | None) -> bytes:
    if found is None:
        return b"none"
    looks = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return hashlib.blake2b(repr(looks).encode(), digest_size=8).digest()
