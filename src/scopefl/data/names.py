"""File names as text: any bytes a disk allows, written reversibly as valid UTF-8."""

import os
import re
from collections.abc import Iterable

from scopefl.errors import ScopeError


def escape(raw: bytes) -> str:
    r"""Return a file name as text; a backslash, a control byte or invalid UTF-8 becomes an escape.

    >>> escape(b"caf\xe9.png"), escape("café.png".encode())
    ('caf\\xe9.png', 'café.png')
    """
    quoted = re.sub(rb"[\x00-\x1f\x7f\\]", _escape_byte, raw)
    return quoted.decode("utf-8", "backslashreplace")


def unescape(text: str) -> bytes:
    r"""Return the bytes that `escape` was given.

    >>> unescape('caf\\xe9.png')
    b'caf\xe9.png'
    """
    return re.sub(rb"\\x([0-9a-f]{2})", lambda found: bytes([int(found[1], 16)]), text.encode())


def shown(path: "os.PathLike[str] | str") -> str:
    """Return a path as text that can be printed and stored."""
    return escape(os.fsencode(path))


def check_distinct(ids: Iterable[str], name: str) -> None:
    """Refuse a collection that names two items alike."""
    seen: set[str] = set()
    for one in ids:
        if one in seen:
            raise ScopeError(f"ids must be distinct, but {one!r} is twice in {name}")
        seen.add(one)


def _escape_byte(found: "re.Match[bytes]") -> bytes:
    return b"\\x%02x" % found[0][0]
