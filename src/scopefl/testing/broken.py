"""Exhibits that are not whole pictures: cut short, mistaken for pictures, or bombs."""

import io
import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tifffile

from scopefl.data.rules import DecodingRules
from scopefl.testing.exhibit import Exhibit, encoded, grey, png_of, quarantined, tiff

CUTS = range(5, 100, 5)
WINDOW = (0.0, 65535.0)


def broken_exhibits() -> Iterator[Exhibit]:
    """Give files that must be quarantined, every one."""
    yield from _cuts()
    yield from _mistaken()
    yield from _sizes()
    yield from _bombs()
    yield from _places()


def _cuts() -> Iterator[Exhibit]:
    whole = {
        "jpg": encoded(grey(), "JPEG", quality=95),
        "progressive.jpg": encoded(grey(), "JPEG", quality=95, progressive=True),
        "png": encoded(grey()),
        "webp": encoded(grey(), "WEBP", lossless=True),
        "bmp": encoded(grey(), "BMP"),
        "tif": tiff(grey().astype(np.uint16) * 257),
        "deflate.tif": tiff(grey().astype(np.uint16) * 257, compression="zlib", rowsperstrip=8),
    }
    for suffix, data in whole.items():
        for percent in CUTS:
            cut = data[: len(data) * percent // 100]
            yield quarantined(f"cut-{percent:02}.{suffix}", cut, "", window=WINDOW)


def _mistaken() -> Iterator[Exhibit]:
    noise = np.random.default_rng(3).bytes(4096)
    vector = b"<svg xmlns='http://www.w3.org/2000/svg'><rect width='99' height='99'/></svg>"
    script = b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 64 64\nshowpage\n"
    damaged = bytearray(encoded(grey()))
    damaged[len(damaged) // 2] ^= 255
    yield quarantined("empty.png", b"", "empty")
    yield quarantined("page.jpg", b"<!DOCTYPE html><html><body>404</body></html>", "<!DOCTYPE")
    yield quarantined("words.png", b"not a picture\n" * 40, "not an image")
    yield quarantined("noise.jpg", noise, "not an image")
    yield quarantined("noise.tif", b"II*\0" + noise, "")
    yield quarantined("zeros.tif", bytes(4096), "not an image")
    yield quarantined("drawing.svg", vector, "not an image")
    yield quarantined("script.eps", script, "not an image")
    yield quarantined("only-the-start.png", b"\x89PNG\r\n\x1a\n", "cut short")
    yield quarantined("only-the-start.tif", b"II*\0", "")
    yield quarantined("flipped-byte.png", bytes(damaged), "")
    yield quarantined("pages-in-a-circle.tif", _circular_pages(), "without an end")
    yield quarantined("no-pages.tif", b"II*\0\0\0\0\0", "without pages")


def _circular_pages() -> bytes:
    """Return a TIFF of two pages, the second of which names the first as its successor."""
    data = bytearray(tiff(np.zeros((2, 80, 96), np.uint8), photometric="minisblack", metadata=None))
    first = struct.unpack_from("<I", data, 4)[0]
    second = struct.unpack_from("<I", data, _end_of_page(data, first))[0]
    struct.pack_into("<I", data, _end_of_page(data, second), first)
    return bytes(data)


def _end_of_page(data: bytearray, start: int) -> int:
    entries: int = struct.unpack_from("<H", data, start)[0]
    return start + 2 + 12 * entries


def _sizes() -> Iterator[Exhibit]:
    yield quarantined("1x1.png", encoded(np.zeros((1, 1), np.uint8)), "1x1")
    yield quarantined("5000x1.png", encoded(np.zeros((1, 5000), np.uint8)), "--min-side")
    yield quarantined("1x5000.tif", tiff(np.zeros((5000, 1), np.uint16)), "", window=WINDOW)
    yield quarantined("over-the-cap.png", encoded(grey()), "--max-pixels", max_pixels=7679)


def _bombs() -> Iterator[Exhibit]:
    black = zlib.compress(bytes(12_000 // 8 + 1) * 12_000, 9)
    yield quarantined("bomb-400.png", png_of(20_000, 20_000, 8, 0, black), "--max-pixels")
    yield quarantined("bomb-144.png", png_of(12_000, 12_000, 1, 0, black), "144000000 pixels")
    yield quarantined("bomb-deep.png", png_of(12_000, 12_000, 16, 2, black), "--max-pixels")
    yield quarantined("bomb.gif", b"GIF89a" + struct.pack("<HHBBB", 65535, 65535, 0, 0, 0)
                      + b"," + struct.pack("<HHHHB", 0, 0, 65535, 65535, 0) + b"\x02\x00;",
                      "--max-pixels")  # fmt: skip
    yield quarantined("bomb.jpg", _jpeg_claiming(65_000), "--max-pixels")
    yield quarantined("bomb.tif", _tiff_claiming(60_000), "--max-pixels", window=WINDOW)
    yield quarantined("bomb-strip.tif", _inflating_strip(), "inflates", window=WINDOW)
    pages = np.zeros((90, 1000, 1000), dtype=np.uint8)
    many = tiff(pages, compression="zlib", photometric="minisblack", imagej=False)
    yield quarantined("bomb-pages.tif", many, "90000000 pixels", project="max")


def _jpeg_claiming(side: int) -> bytes:
    data = encoded(grey(), "JPEG")
    start = data.index(b"\xff\xc0") + 5
    return data[:start] + struct.pack(">HH", side, side) + data[start + 4 :]


def _tiff_claiming(side: int) -> bytes:
    data = bytearray(tiff(grey().astype(np.uint16), compression="zlib"))
    with tifffile.TiffFile(io.BytesIO(data)) as opened:
        offsets = [opened.pages.first.tags[code].valueoffset for code in (256, 257)]
    for offset in offsets:
        struct.pack_into("<H", data, offset, side)
    return bytes(data)


def _inflating_strip() -> bytes:
    """Return a small TIFF whose only strip inflates to 512 MB."""
    packed = zlib.compressobj(9)
    bomb = b"".join(packed.compress(bytes(1 << 20)) for _ in range(512)) + packed.flush()
    data = bytearray(tiff(grey().astype(np.uint16), compression="zlib", metadata=None))
    with tifffile.TiffFile(io.BytesIO(data)) as opened:
        tags = opened.pages.first.tags
        offset, count = tags["StripOffsets"], tags["StripByteCounts"]
        places = [(tag.valueoffset, "<I" if tag.dtype == 4 else "<H") for tag in (offset, count)]
    struct.pack_into(places[0][1], data, places[0][0], len(data))
    struct.pack_into(places[1][1], data, places[1][0], len(bomb))
    return bytes(data) + bomb


def _places() -> Iterator[Exhibit]:
    rules = DecodingRules()
    yield Exhibit(b"folder.png", Path.mkdir, rules, reason="not a regular file")
    yield Exhibit(b"pipe.png", os.mkfifo, rules, reason="not a regular file")
    yield Exhibit(
        b"nowhere.png", lambda path: path.symlink_to("gone"), rules, reason="no such file"
    )
    yield Exhibit(b"circle.png", lambda path: path.symlink_to(path.name), rules, reason="links")
