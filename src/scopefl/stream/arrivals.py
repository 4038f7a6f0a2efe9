"""What is new in a folder: files that an instrument has written and left alone for a while."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from scopefl.data.folder import FolderSource
from scopefl.data.source import Item
from scopefl.errors import ScopeError
from scopefl.stream.events import NS, Clock
from scopefl.stream.ledger import looks
from scopefl.stream.state import State

MOST = 65_536
"""Files watched for stillness at once; what comes beyond them is found later, and no sooner old."""


@dataclass(frozen=True)
class Arriving:
    """An item, and how its file looked when it was found still."""

    item: Item
    look: bytes = b""


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
        known = looks(self.state)
        last = next(known, None)
        for item in self._items():
            while last is not None and last[0] < item.id:
                last = next(known, None)
            found = _stat(item)
            look = _look(found)
            if last is not None and last == (item.id, look):
                continue
            if all_of_them or self._is_still(item.id, look, found):
                yield Arriving(item, look)
            elif len(moving) < MOST:
                first = self._moving.get(item.id, (b"", 0.0))
                moving[item.id] = first if first[0] == look else (look, self.clock.steady())
        self._moving = moving

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
