"""From raw input to pixels: one function, under declared rules, or a reason why not."""

from typing import Any

import numpy as np
from PIL import Image

from scopefl.data.picture import Decoded, to_picture
from scopefl.data.raster import image_samples, read_raster
from scopefl.data.rules import DecodingRules
from scopefl.data.samples import Samples, array_samples, check_size
from scopefl.data.source import Item
from scopefl.data.tiff import MAGIC, read_tiff
from scopefl.data.unreadable import Ambiguous, Unreadable, plain
from scopefl.errors import ScopeError

__all__ = ["Ambiguous", "Decoded", "DecodingRules", "Unreadable", "decode", "raw_of"]


def raw_of(item: Item) -> Any:
    """Return what an item reads, whatever its source may raise turned into Unreadable."""
    try:
        return item.read()
    except Unreadable:
        raise
    except MemoryError:
        raise Unreadable("reading it needs more memory than there is") from None
    except Exception as error:
        # A source is the user's own code as often as ours, and one item must not stop a run.
        raise Unreadable(f"cannot be read: {plain(error)}") from error


def decode(raw: Any, rules: DecodingRules) -> Decoded:
    """Return the pixels of file bytes, an array or a Pillow image.

    Raises Unreadable with the reason, Ambiguous with the flag to add; never a library's error.
    The pixels may be read-only.

    >>> import numpy as np
    >>> decode(np.full((20, 30), 7, dtype=np.uint8), DecodingRules()).pixels.shape
    (20, 30, 3)
    """
    try:
        return to_picture(_samples(raw, rules), rules)
    except ScopeError:
        raise
    except MemoryError:
        raise Unreadable("decoding it needs more memory than there is") from None
    except Exception as error:
        # Decoders raise whatever they like on hostile input, and one file must not stop a run.
        raise Unreadable(f"cannot be decoded: {plain(error)}") from error


def _samples(raw: Any, rules: DecodingRules) -> Samples:
    if isinstance(raw, bytes):
        if not raw:
            raise Unreadable("the file is empty")
        return read_tiff(raw, rules) if raw.startswith(MAGIC) else read_raster(raw, rules)
    if isinstance(raw, Samples):
        planes, height, width, channels = raw.values.shape
        check_size(width, height, planes, channels, rules)
        return raw
    if isinstance(raw, np.ndarray):
        return array_samples(raw, rules)
    if isinstance(raw, Image.Image):
        return image_samples(raw, rules)
    raise Unreadable(f"a {type(raw).__name__} is not file bytes, an array or a Pillow image")
