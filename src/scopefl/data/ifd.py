"""The chain of pages of a TIFF, walked once before anything trusts it: a chain can be a circle."""

import struct
from typing import BinaryIO

from scopefl.data.unreadable import Unreadable

LONGEST = 100_000
"""Pages followed in one file."""


def check_chain(stream: BinaryIO) -> int:
    """Return how many pages the chain has; refuse one that turns back or leaves the file."""
    try:
        order, big = _kind(stream.read(4))
        word, count_kind, entry = ("Q", "Q", 20) if big else ("I", "H", 12)
        stream.seek(8 if big else 4)
        offset = _number(stream, order + word)
        seen: set[int] = set()
        while offset:
            if offset in seen or len(seen) >= LONGEST:
                raise Unreadable("the pages of the TIFF follow each other without an end")
            seen.add(offset)
            stream.seek(offset)
            entries = _number(stream, order + count_kind)
            stream.seek(offset + struct.calcsize(order + count_kind) + entry * entries)
            offset = _number(stream, order + word)
    except (struct.error, OverflowError, OSError, ValueError):
        raise Unreadable("the TIFF is cut short: a page it names lies outside it") from None
    return len(seen)


def _kind(magic: bytes) -> tuple[str, bool]:
    order = {b"II": "<", b"MM": ">"}[magic[:2]]
    return order, struct.unpack(f"{order}H", magic[2:])[0] == 43


def _number(stream: BinaryIO, kind: str) -> int:
    found: int = struct.unpack(kind, stream.read(struct.calcsize(kind)))[0]
    return found
