"""TIFF, BigTIFF, ImageJ and OME-TIFF at their full depth; sizes are checked before decoding."""

import importlib.util
import io
import logging
import lzma
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import tifffile
from PIL import Image

from scopefl.data.ifd import check_chain
from scopefl.data.raster import read_raster
from scopefl.data.rules import DecodingRules
from scopefl.data.samples import Alpha, Samples, arrange, canonical_axes, check_size
from scopefl.data.unreadable import Ambiguous, Unreadable

LARGEST_PAGE = 1 << 30
"""Bytes of one page that are loaded; more than any cap of pixels allows."""
MAGIC = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
ORIENTATION = 274
# What tifffile decodes on its own; all else goes to Pillow's libtiff, or to imagecodecs.
BUILT_IN = {1, 8, 32773, 32946, 34925}
DEFLATE, LZMA = {8, 32946}, {34925}
PILLOW_COLOURS = {3, 5, 6, 8}  # palette, CMYK, YCbCr, CIELab: bytes whose meaning Pillow knows
PALETTE = 3
ALPHA: dict[int, Alpha] = {1: "premultiplied", 2: "straight"}

# What tifffile would log about a broken file is already the reason in its row.
logging.getLogger("tifffile").addHandler(logging.NullHandler())
logging.getLogger("tifffile").propagate = False


def read_tiff(data: bytes, rules: DecodingRules) -> Samples:
    """Return the samples of a TIFF file."""
    if check_chain(io.BytesIO(data)) == 0:
        raise Unreadable("a TIFF without pages")
    with tifffile.TiffFile(io.BytesIO(data)) as tiff:
        page = tiff.pages.first
        if needs_pillow(page):
            return _flip_ink(read_raster(data, rules), page)
        if len(tiff.series) > 1:
            raise Ambiguous(
                f"{len(tiff.series)} pictures of different kinds in one TIFF: read them one "
                "by one, as the pages of that file"
            )
        return _series_samples(tiff, page, rules)


def read_page(path: Path, number: int) -> Samples | Image.Image:
    """Return one page of a TIFF file, without loading the others."""
    with tifffile.TiffFile(path) as tiff:
        page = tiff.pages[number].aspage()
        if page.nbytes > LARGEST_PAGE:
            raise Unreadable(f"a page of {page.nbytes} bytes is too large to load")
        if not needs_pillow(page):
            return _page_samples(page)
    with Image.open(path, formats=["TIFF"]) as image:
        image.seek(number)
        return image.copy()


def _check_codec(page: tifffile.TiffPage) -> None:
    if page.compression not in BUILT_IN and importlib.util.find_spec("imagecodecs") is None:
        kind = tifffile.COMPRESSION(page.compression).name
        raise Unreadable(f'{kind} compression of this depth needs: pip install "scopefl[tiff]"')


def needs_pillow(page: tifffile.TiffPage) -> bool:
    """Say whether the page is one whose bytes only Pillow can decode or interpret."""
    depth = np.max(page.bitspersample)
    if page.photometric == PALETTE or (page.photometric in PILLOW_COLOURS and depth == 8):
        return True
    if page.compression in BUILT_IN:
        return False
    return depth <= 8 or page.samplesperpixel == 1


def _flip_ink(samples: Samples, page: tifffile.TiffPage) -> Samples:
    """Mark white-is-zero pages that Pillow leaves alone: it turns those of one byte itself."""
    if page.photometric != tifffile.PHOTOMETRIC.MINISWHITE or samples.full_scale is not None:
        return samples
    return Samples(samples.values, None, colour=True, inverted=True)


def _series_samples(tiff: Any, page: tifffile.TiffPage, rules: DecodingRules) -> Samples:
    series = tiff.series[0]
    _check_codec(page)
    axes = canonical_axes(series.axes, rules)
    sizes = dict.fromkeys("PYXC", 1)
    for length, axis in zip(series.shape, axes, strict=True):
        sizes[axis] *= length
    check_size(sizes["X"], sizes["Y"], sizes["P"], sizes["C"], rules)
    for one in series.pages:
        _check_segments(one if one is not None else page, page, tiff.filehandle.size)
    values = arrange(series.asarray(maxworkers=1), axes)
    return _described(_upright(values, page), page, _channel_names(tiff))


def _page_samples(page: tifffile.TiffPage) -> Samples:
    _check_codec(page)
    _check_segments(page, page, page.parent.filehandle.size)
    axes = "".join("C" if axis == "S" else axis for axis in page.axes)
    values = arrange(page.asarray(maxworkers=1), axes.replace("Z", "P"))
    return _described(_upright(values, page), page, ())


def _described(values: Any, page: tifffile.TiffPage, names: tuple[str, ...]) -> Samples:
    if values.dtype == bool:
        values = values.astype(np.uint8)
    if values.dtype.kind not in "uif":
        raise Unreadable(f"samples of type {values.dtype} are not grey levels")
    alpha = ALPHA.get(_last_extra(page), "none")
    channels = values.shape[3] - (alpha != "none")
    is_rgb = page.photometric == tifffile.PHOTOMETRIC.RGB and channels == 3
    return Samples(
        values,
        full_scale=_full_scale(page, values.dtype),
        colour=is_rgb or channels == 1,
        alpha=alpha,
        inverted=page.photometric == tifffile.PHOTOMETRIC.MINISWHITE,
        names=names,
        tagged_range=_tagged_range(page),
    )


def _last_extra(page: tifffile.TiffPage) -> int:
    extras = page.extrasamples
    return int(extras[-1]) if extras else 0


def _full_scale(page: tifffile.TiffPage, dtype: np.dtype[Any]) -> int | None:
    """Return what white is when the format says so: whole bytes, or an odd number of bits."""
    bits = int(np.max(page.bitspersample))
    if dtype.kind != "u" or bits in (16, 32, 64):
        return None
    return int(2**bits - 1)


def _tagged_range(page: tifffile.TiffPage) -> tuple[float, float] | None:
    low, high = page.tags.valueof("MinSampleValue", 0), page.tags.valueof("MaxSampleValue")
    try:
        return None if high is None else (float(np.min(low)), float(np.max(high)))
    except (TypeError, ValueError):
        return None


def _channel_names(tiff: Any) -> tuple[str, ...]:
    if tiff.is_ome:
        found = tifffile.xml2dict(tiff.ome_metadata)["OME"]["Image"]
        image = found[0] if isinstance(found, list) else found
        channels = image["Pixels"].get("Channel", [])
        channels = channels if isinstance(channels, list) else [channels]
        return tuple(str(one.get("Name", number)) for number, one in enumerate(channels))
    if tiff.is_imagej:
        labels = (tiff.imagej_metadata or {}).get("Labels") or []
        return tuple(str(label) for label in labels)
    return ()


def _upright(values: Any, page: tifffile.TiffPage) -> Any:
    """Return (P, Y, X, C) values turned as the orientation tag says."""
    turn = page.tags.valueof(ORIENTATION, 1)
    if turn in (5, 6, 7, 8):
        values = values.swapaxes(1, 2)
    if turn in (3, 4, 7, 8):
        values = values[:, ::-1]
    if turn in (2, 3, 6, 7):
        values = values[:, :, ::-1]
    return values


def _check_segments(page: Any, keyframe: tifffile.TiffPage, file_size: int) -> None:
    """Refuse pages whose strips lie outside the file or inflate beyond their declared size."""
    pairs = list(zip(page.dataoffsets, page.databytecounts, strict=True))
    if any(count and offset + count > file_size for offset, count in pairs):
        raise Unreadable("the TIFF is cut short: it lacks part of its pixels")
    if keyframe.compression not in DEFLATE | LZMA:
        return
    depth = int(np.max(keyframe.bitspersample))
    whole = (int(np.prod(keyframe.chunks)) * depth + 7) // 8 + keyframe.imagelength
    for offset, count in pairs:
        page.parent.filehandle.seek(offset)
        if _inflates_beyond(page.parent.filehandle.read(count), whole, keyframe.compression):
            raise Unreadable("a strip of the TIFF inflates to more than its declared size")


def _inflates_beyond(packed: bytes, whole: int, compression: int) -> bool:
    if compression in DEFLATE:
        if len(packed) * 1032 <= 2 * whole:
            return False
        return len(zlib.decompressobj().decompress(packed, whole + 1)) > whole
    return len(lzma.LZMADecompressor().decompress(packed, whole + 1)) > whole
