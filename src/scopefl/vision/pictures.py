"""The pictures of a folder as pixels, for trying a kit out; scoring reads through `data`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from scopefl.errors import ScopeError


@dataclass(frozen=True)
class Pictures:
    """Images (H, W, 3) uint8 RGB, and their class numbers if every folder name is a class."""

    images: list[NDArray[np.uint8]]
    labels: NDArray[np.int64] | None


def read_pictures(folder: Path, classes: Sequence[str]) -> Pictures:
    """Give every 8-bit picture below a folder, in the order of their paths."""
    images, names = [], []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        try:
            with Image.open(path) as picture:
                if picture.mode not in ("RGB", "L", "P", "RGBA"):
                    continue
                images.append(np.asarray(ImageOps.exif_transpose(picture).convert("RGB")))
        except OSError:
            continue
        names.append(path.parent.name)
    if not images:
        raise ScopeError(f"{folder} must hold at least one 8-bit picture that Pillow can read")
    labelled = set(names) <= set(classes)
    numbers = {name: number for number, name in enumerate(classes)}
    return Pictures(
        images, np.array([numbers[name] for name in names], np.int64) if labelled else None
    )
