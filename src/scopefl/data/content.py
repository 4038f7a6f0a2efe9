"""Reading a file once and whole, and the key under which its embedding is cached."""

import hashlib
import json
import os
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from scopefl.data.rules import DecodingRules
from scopefl.data.samples import Samples
from scopefl.data.unreadable import Unreadable, plain

LARGEST_FILE = 1 << 30
"""A file above this holds more than any cap of pixels allows, and would fill the memory."""
_NOTHING = np.empty(0, dtype=np.uint8)


def read_file(path: Path) -> bytes:
    """Return a file's bytes as they were at one moment; Unreadable says why not."""
    for _ in range(2):
        data = _read_unless_changed(path)
        if data is not None:
            return data
    raise Unreadable("changed while being read, twice")


def _read_unless_changed(path: Path) -> bytes | None:
    try:
        with open(path, "rb", opener=_open_without_waiting) as stream:
            before = os.fstat(stream.fileno())
            if not stat.S_ISREG(before.st_mode):
                raise Unreadable("not a regular file")
            if before.st_size > LARGEST_FILE:
                raise Unreadable(
                    f"a file of {before.st_size} bytes: at most {LARGEST_FILE} are read"
                )
            data = stream.read(LARGEST_FILE + 1)
            after = os.fstat(stream.fileno())
        replaced = path.stat()
    except FileNotFoundError:
        raise Unreadable("no such file") from None
    except IsADirectoryError:
        raise Unreadable("not a regular file") from None
    except (OSError, ValueError) as error:
        said = error.strerror if isinstance(error, OSError) else None
        raise Unreadable(f"cannot be read: {said or plain(error)}") from None
    moments = {(s.st_ino, s.st_size, s.st_mtime_ns) for s in (before, after, replaced)}
    return data if len(moments) == 1 and len(data) == before.st_size else None


def _open_without_waiting(path: str, flags: int) -> int:
    # A named pipe without a writer would block forever.
    return os.open(path, flags | os.O_NONBLOCK)


def content_key(raw: Any, rules: DecodingRules) -> str:
    """Return 64 hex digits that are equal exactly when the input and the rules are."""
    key = hashlib.blake2b(digest_size=32)
    key.update(json.dumps(rules.canonical(), sort_keys=True).encode())
    for part in _parts(raw):
        key.update(b"\0")
        key.update(part)
    return key.hexdigest()


def _parts(raw: Any) -> list[bytes | memoryview]:
    if isinstance(raw, bytes):
        return [b"file", raw]
    if isinstance(raw, np.ndarray):
        if raw.dtype.hasobject:
            raise Unreadable(f"samples of type {raw.dtype} are not grey levels")
        whole = np.ascontiguousarray(raw)
        return [
            b"array",
            f"{raw.dtype.str}{raw.shape}".encode(),
            whole.reshape(-1).view(np.uint8).data,
        ]
    if isinstance(raw, Samples):
        return [b"samples", repr(replace(raw, values=_NOTHING)).encode(), *_parts(raw.values)]
    if isinstance(raw, Image.Image):
        return [b"image", _image_header(raw), raw.tobytes()]
    raise Unreadable(f"a {type(raw).__name__} is not file bytes, an array or a Pillow image")


def _image_header(image: Image.Image) -> bytes:
    palette = image.getpalette() if image.mode in ("P", "PA") else None
    header = [image.mode, image.size, palette, image.getexif().get(0x0112, 1)]
    return repr([*header, image.info.get("transparency")]).encode()
