"""Exhibits of at most 8 bits: palettes, transparency, inks and cameras held sideways."""

from collections.abc import Iterator

import numpy as np
from PIL import Image

from scopefl.testing.exhibit import (
    Exhibit,
    Pixels,
    colour,
    encoded,
    grey,
    png,
    quarantined,
    scored,
    tiff,
)

TURNS = Image.Transpose
AWAY = {
    2: TURNS.FLIP_LEFT_RIGHT,
    3: TURNS.ROTATE_180,
    4: TURNS.FLIP_TOP_BOTTOM,
    5: TURNS.TRANSPOSE,
    6: TURNS.ROTATE_90,
    7: TURNS.TRANSVERSE,
    8: TURNS.ROTATE_270,
}


def shallow_exhibits() -> Iterator[Exhibit]:
    """Give 8-bit files whose pixels are the reference picture, each hidden in its own way."""
    yield from _plain()
    yield from _few_bits()
    yield from _transparent()
    yield from _inks()
    yield from _turned()


def _plain() -> Iterator[Exhibit]:
    levels, rgb = grey(), colour()
    for kind, suffix in (("BMP", "bmp"), ("PNG", "png"), ("PPM", "pgm"), ("TGA", "tga")):
        yield scored(f"grey.{suffix}", encoded(levels, kind), levels)
        yield scored(f"colour-{suffix}.{suffix}", encoded(rgb, kind), rgb)
    yield scored("lossless.webp", encoded(rgb, "WEBP", lossless=True), rgb)
    yield scored("lossless.jp2", encoded(rgb, "JPEG2000"), rgb)
    yield scored(
        "lossless.avif", encoded(levels, "AVIF", quality=100, subsampling="4:0:0"), levels, 3
    )
    yield scored("fine.jpg", encoded(levels, "JPEG", quality=100), levels, 2)
    yield scored(
        "progressive.jpg", encoded(levels, "JPEG", quality=100, progressive=True), levels, 2
    )
    yield scored("jpeg-called-png.png", encoded(levels, "JPEG", quality=100), levels, 2)
    yield scored("grey.tif", tiff(levels), levels)
    yield scored("colour.tif", tiff(rgb), rgb)
    yield scored(
        "jpeg-inside.tif", encoded(levels, "TIFF", compression="jpeg", quality=100), levels, 2
    )
    yield scored("long.png", encoded(np.tile(levels, (1, 12))), np.tile(levels, (1, 12)))
    # A window is for deeper samples; bytes are already what is shown.
    yield scored("8-bit-under-a-window.png", encoded(levels), levels, window=(0.0, 4095.0))
    yield scored("one-channel.png", encoded(rgb), rgb[..., 1], channels=(1,))
    yield scored("swapped.png", encoded(rgb), rgb[..., ::-1], channels=(2, 1, 0))
    yield quarantined("no-such-channel.png", encoded(levels), "no channel 3", channels=(3,))


def _few_bits() -> Iterator[Exhibit]:
    levels = grey()
    bit = np.where(levels > 100, 255, 0).astype(np.uint8)
    image = Image.fromarray(bit).convert("1", dither=Image.Dither.NONE)
    yield scored("one-bit.png", encoded(image), bit)
    yield scored("one-bit.tif", encoded(image, "TIFF"), bit)
    yield scored("one-bit-fax.tif", encoded(image, "TIFF", compression="group4"), bit)
    yield scored("one-bit-raw.tif", tiff(bit > 0, photometric="minisblack"), bit)
    yield scored("white-is-zero.tif", tiff(255 - levels, photometric="miniswhite"), levels)
    yield scored("palette.png", encoded(_palette()), _shown(_palette()))
    yield scored("palette.gif", encoded(_palette(), "GIF"), _shown(_palette()))
    yield scored("palette.tif", encoded(_palette(), "TIFF"), _shown(_palette()))


def _transparent() -> Iterator[Exhibit]:
    levels, rgb = grey(), colour()
    opaque = np.full(levels.shape, 255, dtype=np.uint8)
    half = opaque.copy()
    half[:40] = 0
    on_white, on_black = rgb.copy(), rgb.copy()
    on_white[:40], on_black[:40] = 255, 0
    see_through = np.dstack([rgb, half])
    yield scored("opaque.png", encoded(np.dstack([rgb, opaque])), rgb)
    yield scored("half-on-white.png", encoded(see_through), on_white)
    yield scored("half-on-black.png", encoded(see_through), on_black, background=0)
    yield scored("half.tif", tiff(see_through, extrasamples=["unassalpha"]), on_white)
    premultiplied = np.dstack([on_black, half])
    yield scored("premultiplied.tif", tiff(premultiplied, extrasamples=["assocalpha"]), on_white)
    yield quarantined(
        "fourth-channel.tif", tiff(see_through, extrasamples=["unspecified"]), "--channels"
    )
    grey_on_white = levels.copy()
    grey_on_white[:40] = 255
    yield scored("grey-alpha.png", png(np.dstack([levels, half]), 8, 4), grey_on_white)
    keyed = rgb.copy()
    keyed[:10] = (1, 2, 3)
    shown = keyed.copy()
    shown[:10] = 255
    yield scored("keyed.png", encoded(keyed, transparency=(1, 2, 3)), shown)
    palette = _palette()
    shown = _shown(palette)
    shown[np.asarray(palette) == 3] = 255
    yield scored("palette-hole.png", encoded(palette, transparency=3), shown)


def _inks() -> Iterator[Exhibit]:
    inks = Image.fromarray(colour()).convert("CMYK")
    yield scored("inks.tif", encoded(inks, "TIFF"), colour())
    yield scored("inks.jpg", encoded(inks, "JPEG", quality=100, subsampling=0), colour(), 12)
    lab = Image.fromarray(colour()).convert("RGB")
    data = tiff(np.asarray(lab), photometric="cielab")
    yield quarantined("lab.tif", data, "colour mode LAB")


def _turned() -> Iterator[Exhibit]:
    rgb = colour()
    for turn in range(1, 9):
        image = Image.fromarray(rgb)
        stored = image.transpose(AWAY[turn]) if turn in AWAY else image
        exif = Image.Exif()
        exif[274] = turn
        yield scored(f"turned-{turn}.png", encoded(stored, exif=exif), rgb)
        jpeg = encoded(stored, "JPEG", quality=100, subsampling=0, exif=exif)
        yield scored(f"turned-{turn}.jpg", jpeg, rgb, 6)


def _palette() -> Image.Image:
    return Image.fromarray(colour()).quantize(64, dither=Image.Dither.NONE)


def _shown(palette: Image.Image) -> Pixels:
    return np.array(palette.convert("RGB"))
