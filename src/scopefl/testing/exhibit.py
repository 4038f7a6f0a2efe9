"""One hostile file of the zoo, the rules it is read under, and what must become of it."""

import io
import os
import struct
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from numpy.typing import NDArray
from PIL import Image

from scopefl.data.rules import DecodingRules

Pixels = NDArray[np.uint8]
HEIGHT, WIDTH = 80, 96


@dataclass(frozen=True)
class Exhibit:
    """A file to make, and its written rule: scored like a picture, or quarantined with a reason."""

    name: bytes
    place: Callable[[Path], object]
    """Puts the file at a path."""
    rules: DecodingRules = field(default_factory=DecodingRules)
    like: Pixels | None = None
    """The picture it must decode to, or None where it must be quarantined."""
    within: int = 0
    """The largest difference from `like` allowed in a pixel, in grey levels."""
    reason: str = ""
    """Words the reason of a quarantined file must contain."""

    @property
    def status(self) -> str:
        """Return the status its row must have."""
        return "quarantined" if self.like is None else "scored"

    def path(self, folder: Path) -> Path:
        """Return where the exhibit stands in a folder."""
        return folder / os.fsdecode(self.name)


def scored(name: str, data: bytes, like: Pixels, within: int = 0, **rules: Any) -> Exhibit:
    """Return a file that must decode to a picture under rules."""
    return Exhibit(
        os.fsencode(name), _writer(data), DecodingRules(**rules), _rgb(like), within=within
    )


def quarantined(name: str, data: bytes, reason: str, **rules: Any) -> Exhibit:
    """Return a file that must be quarantined under rules."""
    return Exhibit(os.fsencode(name), _writer(data), DecodingRules(**rules), reason=reason)


def grey() -> Pixels:
    """Return the reference picture: ramps, grains and an asymmetric mark, every level used."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    grains = np.random.default_rng(7).integers(0, 24, (HEIGHT, WIDTH))
    levels: Pixels = (x * 150 // WIDTH + y * 60 // HEIGHT + grains).astype(np.uint8)
    levels[5:20, 5:30] = 250
    levels[0, :2] = (0, 255)
    return levels


def colour() -> Pixels:
    """Return the reference picture in colour."""
    levels = grey()
    return np.stack([levels, levels[::-1], 255 - levels], axis=2)


def encoded(image: Image.Image | NDArray[Any], kind: str = "PNG", **options: Any) -> bytes:
    """Return an image as the bytes of a file."""
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    stream = io.BytesIO()
    image.save(stream, kind, **options)
    return stream.getvalue()


def tiff(values: NDArray[Any], **options: Any) -> bytes:
    """Return an array as the bytes of a TIFF file."""
    stream = io.BytesIO()
    tifffile.imwrite(stream, values, **options)
    return stream.getvalue()


def png(values: NDArray[Any], depth: int, colour_type: int) -> bytes:
    """Return an array as a PNG of a kind that Pillow does not write."""
    rows = values.astype(">u2" if depth == 16 else np.uint8)
    packed = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    return png_of(values.shape[1], values.shape[0], depth, colour_type, packed)


def png_of(width: int, height: int, depth: int, colour_type: int, packed: bytes) -> bytes:
    """Return a PNG with any header and any compressed rows."""
    header = struct.pack(">IIBBBBB", width, height, depth, colour_type, 0, 0, 0)
    chunks = [(b"IHDR", header), (b"IDAT", packed), (b"IEND", b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _rgb(pixels: Pixels) -> Pixels:
    return np.repeat(pixels[:, :, None], 3, axis=2) if pixels.ndim == 2 else pixels


def _writer(data: bytes) -> Callable[[Path], object]:
    return lambda path: path.write_bytes(data)
