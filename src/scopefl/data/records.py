"""A folder of records under 32-byte keys that any number of processes may fill at once.

New records are written as shards, each whole or not at all and named by its own content: two
processes that find the same records write the same file or equal copies, so nobody needs a lock.
A shard that does not match its checksum is as good as absent.
"""

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.data.files import write_bytes
from scopefl.errors import ScopeError

KEY = 32
MAGIC = b"SCRECS1\n"
HEAD = len(MAGIC) + 8
CHECK = 32
SUFFIX = ".records"
OPEN = 64
"""Shards kept mapped: each holds a file descriptor, and a process has a thousand of those."""


class Records:
    """Records of one length by key: those in the folder, and new ones until `flush`.

    One thread adds and flushes; others may look up meanwhile.
    """

    def __init__(self, folder: Path, length: int) -> None:
        self.folder, self.length = folder, length
        self._shards: list[Path] = []
        self._place: dict[bytes, tuple[int, int]] = {}
        self._new: dict[bytes, bytes] = {}
        self._mapped = lru_cache(OPEN)(_records)
        for path in sorted(folder.glob(f"*{SUFFIX}")):
            self._take_in(path)

    def __contains__(self, key: bytes) -> bool:
        """Say whether a key has its record."""
        return key in self._place or key in self._new

    def __len__(self) -> int:
        """Count the records."""
        return len(self._place) + len(self._new)

    @property
    def waiting(self) -> int:
        """Count the records that `flush` would write."""
        return len(self._new)

    def add(self, key: bytes, record: bytes) -> None:
        """Hold a new record until the next flush."""
        if key not in self:
            self._new[key] = record

    def get(self, keys: Sequence[bytes]) -> NDArray[np.uint8]:
        """Give the records (N, length) of keys that are all there."""
        found = np.empty((len(keys), self.length), np.uint8)
        of_shard: dict[int, list[tuple[int, int]]] = {}
        for row, key in enumerate(keys):
            # Asked for once: a flush in another thread moves records from here to a shard.
            new = self._new.get(key)
            if new is not None:
                found[row] = np.frombuffer(new, np.uint8)
            else:
                shard, place = self._place[key]
                of_shard.setdefault(shard, []).append((row, place))
        for shard, pairs in of_shard.items():
            rows, places = np.array(pairs).T
            found[rows] = self._mapped(self._shards[shard], self.length)[places]
        return found

    def flush(self) -> None:
        """Write what is new as one more shard."""
        if not self._new:
            return
        keys = sorted(self._new)
        count = len(keys).to_bytes(4, "little") + self.length.to_bytes(4, "little")
        body = MAGIC + count + b"".join(keys) + b"".join(self._new[key] for key in keys)
        check = hashlib.blake2b(body, digest_size=CHECK).digest()
        path = self.folder / f"{check.hex()}{SUFFIX}"
        write_bytes(path, body + check)
        self._enter(path, keys)
        self._new.clear()

    def _take_in(self, path: Path) -> None:
        try:
            data = path.read_bytes()
        except OSError:
            return
        whole = hashlib.blake2b(data[:-CHECK], digest_size=CHECK).digest() == data[-CHECK:]
        if not whole or len(data) < HEAD + CHECK or data[: len(MAGIC)] != MAGIC:
            return
        count, length = np.frombuffer(data, "<u4", 2, len(MAGIC)).tolist()
        if length == self.length and len(data) == HEAD + count * (KEY + length) + CHECK:
            self._enter(path, [data[HEAD + KEY * i :][:KEY] for i in range(count)])

    def _enter(self, path: Path, keys: Sequence[bytes]) -> None:
        shard = len(self._shards)
        self._shards.append(path)
        for place, key in enumerate(keys):
            self._place.setdefault(key, (shard, place))


def _records(path: Path, length: int) -> NDArray[np.uint8]:
    """Map the records (N, length) of a shard that was found whole."""
    try:
        mapped = np.memmap(path, np.uint8, mode="r")
    except (OSError, ValueError) as error:
        raise ScopeError(
            f"{path} was taken away while it was in use ({error}); run the same command again"
        ) from error
    count = (len(mapped) - HEAD - CHECK) // (KEY + length)
    start = HEAD + KEY * count
    return mapped[start : start + count * length].reshape(count, length)
