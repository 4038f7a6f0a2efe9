"""A labelled collection for experiments: pixels at hand, or pictures to read."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from scopefl.core.order import Rows
from scopefl.core.scores import check_labels
from scopefl.data.decoding import DecodingRules, Unreadable, decode
from scopefl.data.source import Item
from scopefl.errors import ScopeError

Pixels = NDArray[np.uint8]
PLAIN = DecodingRules()


@dataclass(frozen=True)
class Dataset:
    """N images as pixels (N, H, W) or (N, H, W, 3), as paths or items, class numbers and names.

    `groups` (N,) names what must stay together (a specimen); `test` (N,) marks the official test
    set.
    """

    images: Pixels | tuple[Path | Item, ...]
    labels: NDArray[np.int64]
    classes: tuple[str, ...]
    groups: NDArray[np.str_] | None = None
    test: NDArray[np.bool_] | None = None

    def __post_init__(self) -> None:
        """Refuse labels that do not fit the images and the classes."""
        check_labels(self.labels, len(self.images), len(self.classes))

    def __len__(self) -> int:
        """Count the images."""
        return len(self.images)

    def pixels(self, side: int, rows: Rows | slice = slice(None)) -> Pixels:
        """Give images (N, side, side, 3), cut to their central square and resized where needed."""
        if isinstance(self.images, tuple):
            wanted = [self.images[row] for row in np.arange(len(self))[rows]]
            return np.stack([_decoded(each, side) for each in wanted])
        images = self.images[rows]
        if images.ndim == 3:
            images = np.repeat(images[..., None], 3, axis=3)
        if images.shape[1:3] == (side, side):
            return images
        return np.stack([_fitted(image, side) for image in images])


def _decoded(image: Path | Item, side: int) -> Pixels:
    read = image.read if isinstance(image, Item) else image.read_bytes
    try:
        return _fitted(decode(read(), PLAIN).pixels, side)
    except (OSError, Unreadable) as error:
        name = image.path if isinstance(image, Item) else image
        raise ScopeError(
            f"{name} must be a picture ({error}); mend it or take it out of the data set"
        ) from error


def _fitted(pixels: Pixels, side: int) -> Pixels:
    size = (side, side)
    return np.asarray(ImageOps.fit(Image.fromarray(pixels), size, Image.Resampling.BICUBIC))


def class_numbers(names: Sequence[str], classes: tuple[str, ...]) -> NDArray[np.int64]:
    """Give the number of each class name."""
    number = {name: place for place, name in enumerate(classes)}
    return np.array([number[name] for name in names], np.int64)
