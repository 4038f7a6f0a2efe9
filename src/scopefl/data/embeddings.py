"""Embeddings somebody already has: arrays on disk, their labels, and the class names."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import fingerprint, nfc
from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile
from scopefl.errors import ScopeError


def score_embeddings(
    embeddings: Path,
    prototypes: Path,
    labels: Path,
    *,
    classes: Path | None = None,
    ids: Path | None = None,
) -> ScoresFile:
    """Score the rows of a .npy file, however large, against a .npy of prototypes."""
    v_img, t = read_array(embeddings), np.asarray(read_array(prototypes))
    names = nfc(read_lines(classes)) if classes else tuple(map(str, range(len(t))))
    if len(names) != len(t):
        raise ScopeError(
            f"there must be one prototype a class, got {len(t)} in {prototypes} "
            f"and {len(names)} names in {classes}"
        )
    scores = score(v_img, t, read_labels(labels, names))
    digest = hashlib.sha256(np.ascontiguousarray(t, np.float32).tobytes()).hexdigest()
    return ScoresFile.of(
        scores,
        read_labels(labels, names),
        names,
        fingerprint(names, {"prototypes": digest}),
        ids=read_lines(ids) if ids else None,
        settings={"source": "embeddings", "dimension": int(t.shape[1])},
    )


def read_array(path: Path) -> NDArray[Any]:
    """Map a .npy file into memory; object arrays, which would run code, are refused."""
    try:
        array: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError) as error:
        raise ScopeError(f"{path} must be a plain .npy array: {error}") from error
    return array


def read_lines(path: Path) -> list[str]:
    """Give the lines of a text file that are not empty."""
    try:
        return [line.strip() for line in path.read_text("utf-8").splitlines() if line.strip()]
    except (OSError, UnicodeDecodeError) as error:
        raise ScopeError(f"{path} must be a UTF-8 text file: {error}") from error


def read_labels(path: Path, classes: Sequence[str]) -> NDArray[Any]:
    """Give class numbers from a .npy of numbers or a text file with a class name a line."""
    if path.suffix == ".npy":
        return np.asarray(read_array(path))
    number = {name: place for place, name in enumerate(classes)}
    names = nfc(read_lines(path))
    unknown = sorted(set(names) - set(number))
    if unknown:
        raise ScopeError(
            f"labels must be among the {len(classes)} classes, got {unknown[0]!r} in {path}; "
            "add it to the class list or mend the label"
        )
    return np.array([number[name] for name in names], np.int64)
