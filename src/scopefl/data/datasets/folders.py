"""Collections that are folders of classes: any image folder, EuroSAT, Tiny-ImageNet."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from scopefl.data.datasets.archive import check_md5, unzipped
from scopefl.data.datasets.dataset import Dataset, class_numbers
from scopefl.errors import ScopeError

EUROSAT = "EuroSAT.zip"
EUROSAT_TREE = "2750"
EUROSAT_MD5 = "c8fa014336c82ac7804f0398fcb19387"
TINY = "tiny-imagenet-200"
TINY_MD5 = "90528d7ca1a48142e341f4ef8d21d0de"
SUFFIXES = {".bmp", ".gif", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}


def image_folder(folder: Path) -> Dataset:
    """Give the pictures of a folder whose folders are the classes, in the order of their names."""
    classes = tuple(each.name for each in _folders(folder))
    found = [(path, name) for name in classes for path in _pictures(folder / name)]
    if len(classes) < 2 or not found:
        raise ScopeError(
            f"{folder} must hold at least 2 class folders with pictures, "
            f"got {len(classes)} folders and {len(found)} pictures"
        )
    paths, names = zip(*found, strict=True)
    return Dataset(paths, class_numbers(names, classes), classes)


def eurosat(folder: Path, md5: str = EUROSAT_MD5) -> Dataset:
    """Give EuroSAT (RGB) from its archive or its unpacked folder; no official test set."""
    root = folder / EUROSAT_TREE
    if not root.is_dir():
        root = unzipped(_needed(folder / EUROSAT, md5), folder / "EuroSAT") / EUROSAT_TREE
    found = image_folder(root)
    names = [re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower() for name in found.classes]
    return Dataset(found.images, found.labels, tuple(names))


def tiny_imagenet(folder: Path, md5: str = TINY_MD5) -> Dataset:
    """Give Tiny-ImageNet; its validation set is the test set, as its test set has no labels."""
    if (folder / TINY).is_dir():
        root = folder / TINY
    else:
        archive = _needed(folder / f"{TINY}.zip", md5)
        root = unzipped(archive, folder / f"{TINY}-unpacked") / TINY
    synsets = tuple(_lines(root / "wnids.txt"))
    found = [(path, s) for s in synsets for path in _pictures(root / "train" / s / "images")]
    n_train = len(found)
    for line in _lines(root / "val" / "val_annotations.txt"):
        file, synset, *_ = line.split("\t")
        found.append((root / "val" / "images" / Path(file).name, synset))
    paths, names = zip(*found, strict=True)
    unknown = sorted(set(names) - set(synsets))
    if unknown:
        raise ScopeError(f"{root} must have every class in wnids.txt, {unknown[0]} is not there")
    labels = class_numbers(names, synsets)
    return Dataset(paths, labels, _words(root, synsets), test=np.arange(len(labels)) >= n_train)


def _words(root: Path, synsets: Sequence[str]) -> tuple[str, ...]:
    """Give the first word of each synset; where two share it, with the synset's number."""
    table = dict(line.split("\t", 1) for line in _lines(root / "words.txt") if "\t" in line)
    first = [table.get(synset, synset).split(",")[0].strip() for synset in synsets]
    times = Counter(first)
    return tuple(
        word if times[word] == 1 else f"{word} ({synset})"
        for word, synset in zip(first, synsets, strict=True)
    )


def _needed(archive: Path, md5: str) -> Path:
    if not archive.is_file():
        raise ScopeError(f"{archive.name} must lie in {archive.parent}, unpacked or not")
    check_md5(archive, md5)
    return archive


def _folders(root: Path) -> list[Path]:
    if not root.is_dir():
        raise ScopeError(f"{root} must be a folder of class folders")
    return sorted(each for each in root.iterdir() if each.is_dir() and each.name[0] != ".")


def _pictures(root: Path) -> list[Path]:
    return sorted(path for path in root.rglob("*") if path.suffix.lower() in SUFFIXES)


def _lines(path: Path) -> list[str]:
    try:
        return [line for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ScopeError(f"{path} must be a UTF-8 text file: {error}") from error
