"""Ultrahigh-carbon steel: micrographs with their table of labels, and patches of annotated ones."""

import csv
import zipfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scopefl.data.datasets.dataset import Dataset, Pixels, class_numbers
from scopefl.errors import ScopeError

TABLE = "uhcsdb_metadata.csv"
LABEL = "primary_microconstituent"
PATCHES = "uhcs_patches64.npz"
# The paper says six classes and not which. The table names seven microconstituents; the scarcest,
# pearlite+widmanstatten (27 of 961), is left out. Its other words describe defects of the picture.
CLASSES = (
    "martensite",
    "network",
    "pearlite",
    "pearlite+spheroidite",
    "spheroidite",
    "spheroidite+widmanstatten",
)


CONSTITUENTS = ("ferritic matrix", "carbide network", "spheroidite", "widmanstatten")
LEVEL = 85
"""A mask's value divided by this is the constituent's number."""
SIDE, STRIDE = 64, 32
# The annotators' validation part comes last, as in the file that results were made with.
LAST = ("uhcs0006", "uhcs0295", "uhcs1289", "uhcs1648")


def uhcs(folder: Path, classes: tuple[str, ...] = CLASSES) -> Dataset:
    """Give the micrographs of `images/` that the table gives one of the classes; no test set.

    A specimen (sample_key) is a group; a micrograph without one is a group of its own.
    """
    pictures = {path.stem.lower(): path for path in sorted((folder / "images").glob("*.*"))}
    found = [
        (pictures[stem], row[LABEL], row["sample_key"] or stem)
        for row in _rows(folder / TABLE)
        for stem in _stems(row)
        if stem in pictures and row[LABEL] in classes
    ]
    if not found:
        raise ScopeError(
            f"{folder} must hold images/ with micrographs that {TABLE} labels, got "
            f"{len(pictures)} pictures and none of them labelled; name them as the table does"
        )
    paths, names, keys = zip(*found, strict=True)
    return Dataset(paths, class_numbers(names, classes), classes, groups=np.array(keys))


def uhcs_patches(folder: Path) -> Dataset:
    """Give 64-pixel patches, labelled by what fills them; the rest has no label and is left out.

    They come from their file, or are cut from `images/` and `masks/`: the 24 annotated micrographs.
    Neighbours overlap, so patches of one specimen (sample_key) form a group.
    """
    path = folder / PATCHES
    if not path.exists() and (folder / "masks").is_dir():
        return _cut(folder)
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            labelled = stored["label_rule"] >= 0
            images, labels = stored["images"][labelled], stored["label_rule"][labelled]
            groups = stored["sample_key"][labelled]
            names = tuple(str(name).replace("_", " ") for name in stored["class_names"])
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ScopeError(
            f"{path} must be the file of UHCS patches ({error}), or images/ and masks/ lie beside "
            f"{TABLE} to cut them from"
        ) from error
    return Dataset(images, labels.astype(np.int64), names, groups=groups)


def label_of(share: NDArray[np.floating]) -> NDArray[np.int64]:
    """Give the class of patches from the share (N, 4) of each constituent, -1 for none.

    >>> label_of(np.array([[0.6, 0.2, 0.0, 0.2], [0.5, 0.0, 0.5, 0.0], [0.2, 0.0, 0.8, 0.0]]))
    array([ 3,  0, -1])
    """
    matrix, network, spheroidite, widmanstatten = share.T
    enough = [widmanstatten >= 0.15, network >= 0.35, matrix >= 0.45, spheroidite >= 0.9]
    return np.select(enough, [3, 1, 0, 2], -1)


def _cut(folder: Path) -> Dataset:
    keys = {
        stem: row["sample_key"] or stem for row in _rows(folder / TABLE) for stem in _stems(row)
    }
    masks = {path.stem.lower(): path for path in (folder / "masks").glob("*.png")}
    stems = sorted(masks.keys() & keys.keys(), key=lambda stem: (stem in LAST, stem))
    if not stems:
        raise ScopeError(f"{folder / 'masks'} must hold masks of micrographs that {TABLE} names")
    cut = [_patches(folder / "images" / masks[s].name, masks[s]) for s in stems]
    images, labels = (np.concatenate(each) for each in zip(*cut, strict=True))
    groups = np.repeat([keys[stem] for stem in stems], [len(each[1]) for each in cut])
    labelled = labels >= 0
    return Dataset(images[labelled], labels[labelled], CONSTITUENTS, groups=groups[labelled])


def _patches(image: Path, mask: Path) -> tuple[Pixels, NDArray[np.int64]]:
    try:
        grey, constituent = (np.asarray(Image.open(path).convert("L")) for path in (image, mask))
    except OSError as error:
        raise ScopeError(f"{image} and {mask} must be pictures ({error})") from error
    if grey.shape != constituent.shape or not np.isin(constituent, range(0, 256, LEVEL)).all():
        raise ScopeError(
            f"{mask} must be as large as {image} and hold 0, {LEVEL}, {2 * LEVEL} and {3 * LEVEL}"
        )
    cut = [
        np.lib.stride_tricks.sliding_window_view(plane, (SIDE, SIDE))[::STRIDE, ::STRIDE]
        for plane in (grey, constituent // LEVEL)
    ]
    images, inside = (each.reshape(-1, SIDE, SIDE) for each in cut)
    share = [(inside == c).mean(axis=(1, 2)) for c in range(len(CONSTITUENTS))]
    return images, label_of(np.stack(share, axis=1))


def _rows(path: Path) -> list[dict[str, str]]:
    try:
        with path.open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise ScopeError(f"{path} must be the table of labels of UHCSDB: {error}") from error
    needed = {"path", "micrograph_id", "sample_key", LABEL}
    missing = sorted(needed - set(rows[0] if rows else ()))
    if missing:
        raise ScopeError(f"{path} must have a column {missing[0]!r}, it does not")
    return rows


def _stems(row: dict[str, str]) -> tuple[str, str]:
    """Give the names a micrograph goes by: the database's own, and that of its segmented subset."""
    return Path(row["path"]).stem.lower(), f"uhcs{row['micrograph_id'].zfill(4)}"
