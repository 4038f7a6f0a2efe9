"""Exhibits of more than 8 bits, or with missing numbers: each with the window it declares."""

import io
from collections.abc import Iterator
from typing import Any

import numpy as np
import tifffile

from scopefl.testing.exhibit import Exhibit, colour, encoded, grey, png, quarantined, scored, tiff

FULL: dict[str, Any] = {"window": (0.0, 65535.0)}
TWELVE: dict[str, Any] = {"window": (0.0, 4095.0)}
UNIT: dict[str, Any] = {"window": (0.0, 1.0)}


def deep_exhibits() -> Iterator[Exhibit]:
    """Give 16-bit, 12-in-16, 32-bit and floating-point versions of the reference picture."""
    yield from _sixteen_bits()
    yield from _twelve_bits()
    yield from _floats()
    yield from _missing()


def _sixteen_bits() -> Iterator[Exhibit]:
    levels, rgb = grey(), colour()
    deep, deep_rgb = levels.astype(np.uint16) * 257, rgb.astype(np.uint16) * 257
    alpha = np.full((*levels.shape, 1), 65535, dtype=np.uint16)
    yield quarantined("16-undeclared.png", encoded(deep), "--window")
    yield quarantined("16-undeclared.tif", tiff(deep), "--window")
    yield quarantined("16-colour-undeclared.png", png(deep_rgb, 16, 2), "--window")
    yield scored("16.png", encoded(deep), levels, **FULL)
    yield scored("16-colour.png", png(deep_rgb, 16, 2), rgb, **FULL)
    yield scored("16-rgba.png", png(np.dstack([deep_rgb, alpha]), 16, 6), rgb, **FULL)
    yield quarantined("16-la.png", png(np.dstack([deep, alpha]), 16, 4), "transparency", **FULL)
    yield scored("16.jp2", encoded(deep, "JPEG2000"), levels, **FULL)
    yield quarantined("16-colour.jp2", _claiming_depth(rgb), "more than 8", **FULL)
    yield quarantined("16-colour-lzw.tif", _claiming_lzw(deep_rgb), "", **FULL)
    yield quarantined("16.pgm", encoded(deep, "PPM"), "PGM", **FULL)
    yield scored("16.tif", tiff(deep), levels, **FULL)
    yield scored("16-big-endian.tif", tiff(deep, byteorder=">"), levels, **FULL)
    yield scored("16-bigtiff.tif", tiff(deep, bigtiff=True), levels, **FULL)
    yield scored("16-tiles.tif", tiff(deep, tile=(16, 16)), levels, **FULL)
    yield scored("16-deflate.tif", tiff(deep, compression="zlib", predictor=True), levels, **FULL)
    yield scored("16-lzma.tif", tiff(deep, compression="lzma"), levels, **FULL)
    yield scored("16-lzw.tif", encoded(deep, "TIFF", compression="tiff_lzw"), levels, **FULL)
    yield scored("16-colour.tif", tiff(deep_rgb), rgb, **FULL)
    yield scored("16-planar.tif", tiff(deep_rgb.transpose(2, 0, 1), planarconfig="separate",
                 photometric="rgb"), rgb, **FULL)  # fmt: skip
    yield scored(
        "16-white-is-zero.tif", tiff(65535 - deep, photometric="miniswhite"), levels, **FULL
    )
    yield scored("16-percentile.tif", tiff(deep), _stretched(levels), 1, window="auto-percentile")
    yield scored("8-percentile.png", encoded(levels), _stretched(levels), window="auto-percentile")
    yield quarantined("16-blank.tif", tiff(deep * 0), "blank", window="auto-percentile")
    yield scored("16-black.tif", tiff(deep * 0), levels * 0, **FULL)
    signed = (deep.astype(np.int32) - 32768).astype(np.int16)
    yield scored("int16.tif", tiff(signed), levels, window=(-32768.0, 32767.0))
    yield scored("uint32.tif", tiff(deep.astype(np.uint32)), levels, **FULL)
    for turn in range(1, 9):
        tag = [(274, "H", 1, turn, True)]
        data = tiff(_turned_away(deep, turn), extratags=tag, metadata=None)
        yield scored(f"16-turned-{turn}.tif", data, levels, **FULL)


def _twelve_bits() -> Iterator[Exhibit]:
    levels = grey()
    twelve = np.rint(levels * (4095 / 255)).astype(np.uint16)
    tags = [(281, "H", 1, 4095, True)]
    yield scored("12-in-16.png", encoded(twelve), levels, **TWELVE)
    yield scored("12-in-16.tif", tiff(twelve), levels, **TWELVE)
    yield quarantined("12-tagged.tif", tiff(twelve, extratags=tags), "--window 0,4095")
    yield quarantined("12-wrong-window.tif", tiff(twelve + 100), "outside the window", **UNIT)


def _floats() -> Iterator[Exhibit]:
    levels, rgb = grey(), colour()
    unit = levels / np.float32(255)
    yield quarantined("float-undeclared.tif", tiff(unit), "floating-point")
    yield scored("float32.tif", tiff(unit), levels, **UNIT)
    yield scored("float16.tif", tiff(unit.astype(np.float16)), levels, **UNIT)
    yield scored("float64.tif", tiff(unit.astype(np.float64)), levels, **UNIT)
    yield scored("float-colour.tif", tiff(rgb / np.float32(255), photometric="rgb"), rgb, **UNIT)
    yield scored("float-pillow.tif", encoded(unit, "TIFF", compression="tiff_lzw"),
                 levels, **UNIT)  # fmt: skip
    yield scored(
        "float-percentile.tif", tiff(unit), _stretched(levels), 1, window="auto-percentile"
    )
    yield quarantined("complex.tif", tiff(unit.astype(np.complex64)), "complex64", **UNIT)


def _missing() -> Iterator[Exhibit]:
    levels = grey()
    order = np.random.default_rng(1).permutation(levels.size)
    for percent in (0, 1, 4, 6, 25, 50, 75, 99, 100):
        holes = order[: levels.size * percent // 100]
        unit = (levels / np.float32(255)).ravel()
        unit[holes] = np.nan
        data = tiff(unit.reshape(levels.shape))
        if percent > 5:
            yield quarantined(f"nan-{percent}.tif", data, "NaN", **UNIT)
            continue
        filled = levels.ravel().copy()
        filled[holes] = np.rint(np.median(np.delete(levels.ravel(), holes)))
        yield scored(f"nan-{percent}.tif", data, filled.reshape(levels.shape), 1, **UNIT)
    yield quarantined("infinite.tif", tiff(np.full((80, 96), np.inf, np.float32)), "NaN", **UNIT)


def _stretched(levels: Any) -> Any:
    low, high = np.percentile(levels, (0.5, 99.5), method="nearest").astype(float)
    return np.rint((levels.clip(low, high) - low) / (high - low) * 255).astype(np.uint8)


def _turned_away(values: Any, turn: int) -> Any:
    """Return what a camera stores under an orientation, so that turning it gives `values`."""
    if turn in (2, 3, 6, 7):
        values = values[:, ::-1]
    if turn in (3, 4, 7, 8):
        values = values[::-1]
    return np.ascontiguousarray(values.T if turn >= 5 else values)


def _claiming_depth(pixels: Any) -> bytes:
    """Return a JPEG 2000 that declares a depth which Pillow would reduce without a word."""
    data = bytearray(encoded(pixels, "JPEG2000"))
    start = data.index(b"\xff\x4f\xff\x51") + 42
    data[start : start + 9 : 3] = bytes([15, 15, 15])
    return bytes(data)


def _claiming_lzw(values: Any) -> bytes:
    """Return a 16-bit colour TIFF that says it is packed by LZW, and is not."""
    data = bytearray(tiff(values, metadata=None))
    with tifffile.TiffFile(io.BytesIO(data)) as opened:
        offset = opened.pages.first.tags["Compression"].valueoffset
    data[offset] = 5
    return bytes(data)
