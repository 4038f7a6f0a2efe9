"""Ultrahigh-carbon steel: micrographs with their table of labels, and patches of annotated ones."""

import csv
import zipfile
from pathlib import Path

import numpy as np

from scopefl.data.datasets.dataset import Dataset, class_numbers
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

    Neighbours overlap, so patches of one specimen (sample_key) form a group.
    """
    path = folder / PATCHES
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            labelled = stored["label_rule"] >= 0
            images, labels = stored["images"][labelled], stored["label_rule"][labelled]
            groups = stored["sample_key"][labelled]
            names = tuple(str(name).replace("_", " ") for name in stored["class_names"])
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise ScopeError(f"{path} must be the file of UHCS patches: {error}") from error
    return Dataset(images, labels.astype(np.int64), names, groups=groups)


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
