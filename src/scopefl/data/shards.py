"""WebDataset tars, read with the standard library.

The `webdataset` package streams samples in order and stops at a bad one; here a member's place is
noted once and its bytes are read when asked for, so items can be listed, skipped and read again.
"""

import json
import re
import tarfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from scopefl.data.names import check_distinct, escape, shown
from scopefl.data.source import Item
from scopefl.data.unreadable import Unreadable, plain
from scopefl.errors import ScopeError

IMAGES = {
    "avif", "bmp", "gif", "jp2", "jpeg", "jpg", "pbm", "pgm", "png", "ppm", "tif", "tiff", "webp",
}  # fmt: skip
KEY = re.compile(r"((?:.*/)?[^./][^./]*)\.([^/]+)", re.DOTALL)
"""A member's key is its name up to the first dot after the last slash, as in webdataset."""

Place = tuple[Path, int, int]
Members = dict[str, Place]


class ShardSource:
    """The samples of one or more uncompressed tars, known by shard and `__key__`."""

    classes: tuple[str, ...] | None = None

    def __init__(self, shards: list[Path], *, label_member: str = "cls") -> None:
        self.name = shown(shards[0].parent.name if len(shards) > 1 else shards[0].name)
        samples: list[tuple[str, Members | str]] = []
        for shard in shards:
            samples.extend(_samples(shard))
        self._samples = sorted(samples, key=lambda sample: sample[0].encode())
        check_distinct((key for key, _ in self._samples), self.name)
        self._label_member, _, self._label_field = label_member.partition(":")

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[Item]:
        for key, members in self._samples:
            yield Item(key, key, self._label(members), partial(_read_image, members))

    def _label(self, members: Members | str) -> str | None:
        if isinstance(members, str) or self._label_member not in members:
            return None
        try:
            text = _bytes_at(members[self._label_member]).decode()
            value = json.loads(text)[self._label_field] if self._label_field else text.strip()
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return str(value) if value is not None and value != "" else None


def _samples(shard: Path) -> Iterator[tuple[str, Members | str]]:
    """Give the samples of a shard; what breaks off ends in one sample that says so."""
    samples: dict[str, Members] = {}
    broken = ""
    try:
        with tarfile.open(shard, "r:", errors="surrogateescape") as tar:
            for member in tar:
                _note(member, shard, samples)
            # tarfile takes a tar that stops between two members for a whole one.
            if not _has_end_mark(shard, tar.offset):
                broken = f"the tar breaks off after {len(samples)} samples: it lacks its end mark"
    except OSError as error:
        raise ScopeError(f"{shown(shard)} cannot be read: {error.strerror}") from None
    except tarfile.TarError as error:
        if not samples:
            raise ScopeError(
                f"{shown(shard)} must be an uncompressed tar, unpack it first: {plain(error)}"
            ) from None
        broken = f"the tar breaks off after {len(samples)} samples: {plain(error)}"
    for key, members in samples.items():
        yield f"{shown(shard.stem)}/{key}", members
    if broken:
        yield f"{shown(shard.stem)}/", broken


def _has_end_mark(shard: Path, offset: int) -> bool:
    with shard.open("rb") as stream:
        stream.seek(offset)
        return stream.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)


def _note(member: tarfile.TarInfo, shard: Path, samples: dict[str, Members]) -> None:
    found = KEY.fullmatch(member.name)
    if not found or not member.isreg() or member.issparse():
        return
    key = escape(found[1].encode("utf-8", "surrogateescape"))
    members = samples.setdefault(key, {})
    kind = found[2].lower()
    if kind in members:
        raise ScopeError(f"ids must be distinct, but {key}.{kind} is twice in {shown(shard)}")
    members[kind] = (shard, member.offset_data, member.size)


def _read_image(members: Members | str) -> bytes:
    if isinstance(members, str):
        raise Unreadable(members)
    kinds = [kind for kind in members if kind.rpartition(".")[2] in IMAGES]
    if len(kinds) != 1:
        raise Unreadable(f"{len(kinds)} images under one key: it has {', '.join(sorted(members))}")
    return _bytes_at(members[kinds[0]])


def _bytes_at(place: Place) -> bytes:
    shard, offset, size = place
    with shard.open("rb") as stream:
        stream.seek(offset)
        data = stream.read(size)
    if len(data) < size:
        raise Unreadable("the tar is cut short within this sample")
    return data
