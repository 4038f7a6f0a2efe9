"""From a collection of images to cached embeddings: reading ahead, decoding once, resumable."""

import hashlib
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import canonical_json, digest
from scopefl.data.content import content_key
from scopefl.data.decoding import decode, raw_of
from scopefl.data.records import KEY, Records
from scopefl.data.rules import DecodingRules
from scopefl.data.source import Item
from scopefl.data.unreadable import Unreadable
from scopefl.vision.encoder import Encoder
from scopefl.vision.kit import Kit
from scopefl.vision.runtimes import chosen, usable_cores

AHEAD = 64
"""Items read and decoded before their turn: enough to hide a slow disk, few enough for memory."""
SHARD = 256
"""Embeddings a shard holds, and so the most that a killed run loses."""
SETTLED = 2_000_000_000
"""Nanoseconds after which a second write to a file surely shows in its change time."""
NOTE = 160
"""Bytes kept of what decoding did to an image."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one item: the key of its embedding, or the reason why it has none."""

    id: str
    path: str
    label: str | None
    key: bytes | None
    reason: str | None = None


@dataclass(frozen=True)
class Cache:
    """What need not be done again: embeddings by content, and the content of unchanged files."""

    embeddings: Records
    contents: Records
    notes: Records
    """What decoding did to an image, where it did more than read it."""

    @classmethod
    def of(cls, folder: Path, kit: Kit, rules: DecodingRules, runtime: str) -> "Cache":
        """Open the part of a cache folder that belongs to this tower and these rules.

        Classes and prompts have no say: other ones find the same embeddings.
        """
        tower = digest(
            [kit.manifest.files["image.onnx"], _plain(kit.manifest.preprocessing), chosen(runtime)]
        )[:32]
        dim = kit.manifest.dim
        return cls(
            Records(folder / "embeddings" / tower, 2 * dim),
            Records(folder / "contents" / digest(rules.canonical())[:32], KEY),
            Records(folder / "notes", NOTE),
        )

    def flush(self) -> None:
        """Put what is new on disk; notes first, since nobody decodes again what is embedded."""
        self.notes.flush()
        self.embeddings.flush()
        self.contents.flush()

    def note(self, key: bytes) -> str | None:
        """Give what decoding did to an image, if anything."""
        if key not in self.notes:
            return None
        raw: bytes = self.notes.get([key])[0].tobytes()
        return raw.rstrip(b"\0").decode(errors="ignore")

    def rows(self, keys: list[bytes]) -> NDArray[np.float16]:
        """Give the embeddings (N, D) of keys that are all there."""
        return self.embeddings.get(keys).view(np.float16)


@dataclass(frozen=True, slots=True)
class _Read:
    """One item after reading: its content's key, and its prepared image unless that is cached."""

    item: Item
    file: bytes | None = None
    key: bytes | None = None
    prepared: NDArray[np.uint8] | None = None
    note: str = ""
    reason: str | None = None


def embed(
    items: Iterable[Item],
    encoder: Encoder,
    rules: DecodingRules,
    cache: Cache,
    passed: Callable[[Outcome], None] = lambda _: None,
    threads: int = 0,
) -> Iterator[Outcome]:
    """Give every item's outcome in order; when exhausted, all embeddings are on disk.

    `passed` hears of each item as it leaves the queue; `threads` read, by default one a core.
    """
    yield from embed_waiting(items, encoder, rules, cache, passed, threads)
    cache.flush()


def embed_waiting(
    items: Iterable[Item],
    encoder: Encoder,
    rules: DecodingRules,
    cache: Cache,
    passed: Callable[[Outcome], None] = lambda _: None,
    threads: int = 0,
) -> Iterator[Outcome]:
    """Do what `embed` does, the last embeddings left in memory for the cache's next flush."""
    batch: dict[bytes, NDArray[np.uint8]] = {}
    for read in _reading(items, encoder, rules, cache, threads or usable_cores()):
        if read.note and read.key is not None:
            cache.notes.add(read.key, read.note.encode()[:NOTE].ljust(NOTE, b"\0"))
        if read.prepared is not None and read.key is not None:
            batch[read.key] = read.prepared
            if len(batch) == encoder.batch_size:
                _embed_batch(batch, encoder, cache)
        if read.file is not None and read.key is not None:
            cache.contents.add(read.file, read.key)
        outcome = Outcome(read.item.id, read.item.path, read.item.label, read.key, read.reason)
        passed(outcome)
        yield outcome
    _embed_batch(batch, encoder, cache)


def _embed_batch(batch: dict[bytes, NDArray[np.uint8]], encoder: Encoder, cache: Cache) -> None:
    if batch:
        rows = encoder.embed(np.stack(list(batch.values()))).astype(np.float16)
        for key, row in zip(batch, rows, strict=True):
            cache.embeddings.add(key, row.tobytes())
        batch.clear()
    if cache.embeddings.waiting >= SHARD:
        cache.flush()


def _reading(
    items: Iterable[Item], encoder: Encoder, rules: DecodingRules, cache: Cache, threads: int
) -> Iterator[_Read]:
    """Read, hash, decode and prepare ahead of the encoder, in order."""
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_Read]] = deque()
        try:
            for item in items:
                waiting.append(pool.submit(_read, item, encoder, rules, cache))
                if len(waiting) >= AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _read(item: Item, encoder: Encoder, rules: DecodingRules, cache: Cache) -> _Read:
    file = None if item.file is None else _identity(item.file)
    if file is not None and file in cache.contents:
        key = cache.contents.get([file])[0].tobytes()
        if key in cache.embeddings:
            return _Read(item, None, key)
    try:
        raw = raw_of(item)
        key = bytes.fromhex(content_key(raw, rules))
        if key in cache.embeddings:
            return _Read(item, file, key)
        found = decode(raw, rules)
        return _Read(item, file, key, encoder.prepare(found.pixels), "; ".join(found.notes))
    except Unreadable as error:
        return _Read(item, reason=error.reason)


def _identity(file: Path) -> bytes | None:
    """Name a file's state: any write to it moves its change time, which nobody can set.

    A file changed a moment ago has no name yet: one more write may fall on the same clock tick.
    """
    try:
        found = file.stat()
    except (OSError, ValueError):
        return None
    if time.time_ns() - found.st_ctime_ns < SETTLED:
        return None
    state = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    return hashlib.blake2b(repr(state).encode(), digest_size=KEY).digest()


def _plain(value: object) -> str:
    return canonical_json(vars(value)).decode()
