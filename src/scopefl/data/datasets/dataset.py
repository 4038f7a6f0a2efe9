"""A labelled collection for experiments, and its parts for training and testing."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageOps

from scopefl.core.order import Rows, by_class
from scopefl.core.scores import Labels, check_labels
from scopefl.data.decoding import DecodingRules, Unreadable, decode
from scopefl.data.partition import hold_out
from scopefl.data.source import Source
from scopefl.errors import ScopeError

Pixels = NDArray[np.uint8]
PLAIN = DecodingRules()


class Split(NamedTuple):
    """Rows to train on and rows to test on, ascending."""

    train: Rows
    test: Rows


@dataclass(frozen=True)
class Dataset:
    """N images as pixels (N, H, W) or (N, H, W, 3) or as paths, class numbers, class names.

    `groups` (N,) names what must stay together (a specimen); `test` (N,) marks the official test
    set.
    """

    images: Pixels | tuple[Path, ...]
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
            paths = [self.images[row] for row in np.arange(len(self))[rows]]
            return np.stack([_decoded(str(p), p.read_bytes, PLAIN, side) for p in paths])
        images = self.images[rows]
        if images.ndim == 3:
            images = np.repeat(images[..., None], 3, axis=3)
        if images.shape[1:3] == (side, side):
            return images
        return np.stack([_fitted(image, side) for image in images])


def from_source(source: Source, side: int, rules: DecodingRules = PLAIN) -> Dataset:
    """Give the labelled items of any source, a table or a data set of the hub, as pixels."""
    items = [item for item in source if item.label is not None]
    if not items:
        raise ScopeError(f"{source.name} must give labels, none of its {len(source)} items has one")
    names = [str(item.label) for item in items]
    classes = source.classes or tuple(sorted(set(names)))
    images = np.stack([_decoded(item.path, item.read, rules, side) for item in items])
    return Dataset(images, class_numbers(names, classes), classes)


def split(dataset: Dataset, share: float, rng: np.random.Generator) -> Split:
    """Give the official split; else hold a share out: of whole groups, or of every class."""
    test = dataset.test
    if test is None and dataset.groups is not None:
        test = hold_out(dataset.groups, share, rng)
    if test is None:
        test = _share_of_each_class(dataset.labels, len(dataset.classes), share, rng)
    return Split(np.flatnonzero(~test), np.flatnonzero(test))


def _share_of_each_class(
    labels: Labels, n_classes: int, share: float, rng: np.random.Generator
) -> NDArray[np.bool_]:
    if not 0 < share < 1:
        raise ScopeError(f"the share held out must be above 0 and below 1, got {share}")
    test = np.zeros(len(labels), bool)
    for rows in by_class(labels, n_classes):
        test[rng.permutation(rows)[: round(share * len(rows))]] = True
    return test


def _decoded(name: str, read: Callable[[], Any], rules: DecodingRules, side: int) -> Pixels:
    try:
        return _fitted(decode(read(), rules).pixels, side)
    except (OSError, Unreadable) as error:
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
