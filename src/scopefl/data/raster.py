"""What Pillow reads (PNG, JPEG, GIF, BMP, WebP, odd TIFFs), without its silent conversions."""

import io
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageFile, ImageOps, ImageSequence, UnidentifiedImageError
from PIL.PngImagePlugin import PngImageFile

from scopefl.data.rules import DecodingRules
from scopefl.data.samples import Alpha, Samples, check_size
from scopefl.data.unreadable import Ambiguous, Unreadable
from scopefl.errors import ScopeError

# Named one by one: Pillow would also hand EPS to Ghostscript and open what no camera writes.
FORMATS = (
    "AVIF", "BMP", "DIB", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "TGA", "TIFF", "WEBP",
)  # fmt: skip
ORIENTATION = 0x0112
DEEP = {"I", "F", "I;16", "I;16B", "I;16L", "I;16N"}
CMYK_NOTE = "CMYK turned into RGB without its colour profile"
TO_RGB = {"RGBX": "", "CMYK": CMYK_NOTE, "YCbCr": "", "HSV": ""}
TO_RGBA = {"PA", "RGBa", "La"}


def read_raster(data: bytes, rules: DecodingRules) -> Samples:
    """Return the samples of an encoded image."""
    try:
        image = Image.open(io.BytesIO(data), formats=FORMATS)
    except UnidentifiedImageError:
        start = data[:12].decode("ascii", "replace").replace("\ufffd", "?")
        raise Unreadable(f"not an image of a known format, or cut short: {start!r}...") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as bomb:
        # Pillow's own guard, which a stricter warning filter or a still larger image sets off.
        pixels = "".join(re.findall(r"\((\d+) pixels\)", str(bomb)))
        raise Unreadable(
            f"{pixels} pixels: more than the cap of {rules.max_pixels} (--max-pixels)"
        ) from None
    with image:
        if image.mode not in DEEP and sample_depth(data, image.format) > 8:
            return _deep_colour(data, image, rules)
        if image.format == "PPM" and image.mode in DEEP:
            raise Unreadable("PGM of more than 8 bits is not read: save it as PNG or TIFF")
        return image_samples(image, rules)


def image_samples(image: Image.Image, rules: DecodingRules) -> Samples:
    """Return the samples of a Pillow image, turned upright."""
    if ImageFile.LOAD_TRUNCATED_IMAGES:
        raise ScopeError(
            "Pillow must report truncated images, but ImageFile.LOAD_TRUNCATED_IMAGES is set: "
            "set it to False"
        )
    if image.mode not in DEEP and any(
        "16B" in str(tile.args) for tile in getattr(image, "tile", ())
    ):
        raise Unreadable("Pillow would cut 16-bit colour to 8 bits: give the file's bytes instead")
    # Further pictures of a multi-picture JPEG are previews and depth maps of the first.
    planes = 1 if image.format == "MPO" else getattr(image, "n_frames", 1)
    check_size(*image.size, planes, len(image.getbands()), rules)
    if planes == 1:
        return _one_frame(image)
    if rules.project is None:
        raise Ambiguous(
            f"{planes} pictures in one file: add --project max (or mean, first, or a number)"
        )
    frames = [_one_frame(frame.copy()) for frame in ImageSequence.Iterator(image)]
    shapes = {frame.values.shape for frame in frames}
    if len(shapes) > 1:
        raise Unreadable("the pictures in one file differ in size or channels")
    stack = np.concatenate([frame.values for frame in frames])
    first = frames[0]
    return Samples(stack, first.full_scale, first.colour, first.alpha, notes=first.notes)


def _one_frame(image: Image.Image) -> Samples:
    image.load()
    image, alpha, notes = _plain_mode(_upright(image))
    values = np.asarray(image)
    if image.mode == "1":
        values = values.astype(np.uint8) * np.uint8(255)
    if values.ndim == 2:
        values = values[:, :, None]
    full_scale = None if image.mode in DEEP else 255
    return Samples(values[None], full_scale, colour=True, alpha=alpha, notes=notes)


def _upright(image: Image.Image) -> Image.Image:
    turned = image.getexif().get(ORIENTATION, 1) in range(2, 9)
    return ImageOps.exif_transpose(image) if turned else image


def _plain_mode(image: Image.Image) -> tuple[Image.Image, Alpha, tuple[str, ...]]:
    keyed = "transparency" in image.info
    if image.mode in DEEP:
        if keyed:
            raise Unreadable(f"a transparent grey level in {image.mode} samples is not read")
        return image, "none", ()
    if image.mode in TO_RGBA or (keyed and image.mode in ("1", "L", "P", "RGB")):
        return image.convert("RGBA"), "straight", ()
    if image.mode in ("RGBA", "LA"):
        return image, "straight", ()
    if image.mode in TO_RGB:
        note = TO_RGB[image.mode]
        return image.convert("RGB"), "none", (note,) if note else ()
    if image.mode == "P":
        return image.convert("RGB"), "none", ()
    if image.mode in ("1", "L", "RGB"):
        return image, "none", ()
    raise Unreadable(f"colour mode {image.mode} is not read: convert it to RGB")


def sample_depth(data: bytes, kind: str | None) -> int:
    """Return the bits of a sample in the formats whose depth Pillow reduces without a word."""
    if kind == "PNG" and data[12:16] == b"IHDR":
        return data[24]
    if kind == "JPEG2000":
        start = data.find(b"\xff\x4f\xff\x51")
        return (data[start + 42] & 0x7F) + 1 if start >= 0 else 0
    if kind == "AVIF":
        start = data.find(b"pixi")
        return data[start + 9] if start >= 0 else 0
    return 8


def _deep_colour(data: bytes, image: Image.Image, rules: DecodingRules) -> Samples:
    """Read a 16-bit colour PNG twice, since Pillow keeps one byte of a sample at a time."""
    check_size(*image.size, 1, len(image.getbands()), rules)
    if not isinstance(image, PngImageFile):
        raise Unreadable(f"{image.format} of more than 8 bits is not read: save it as PNG or TIFF")
    rawmode = image.tile[0].args
    if rawmode not in ("RGB;16B", "RGBA;16B") or "transparency" in image.info:
        raise Unreadable("16-bit grey PNG with transparency is not read: save it without")
    if getattr(image, "n_frames", 1) > 1:
        raise Unreadable("animated 16-bit PNG is not read: save it as a TIFF stack")
    alpha: Alpha = "straight" if rawmode == "RGBA;16B" else "none"
    values = _png_bytes(image, rawmode).astype(np.uint16) << 8
    with PngImageFile(io.BytesIO(data)) as again:
        values |= _png_bytes(again, rawmode.replace("16B", "16L"))
    return Samples(values[None], None, colour=True, alpha=alpha)


def _png_bytes(image: PngImageFile, rawmode: str) -> NDArray[Any]:
    image.tile = [image.tile[0]._replace(args=rawmode)]
    image.load()
    return np.asarray(_upright(image))
