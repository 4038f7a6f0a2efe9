"""The three scores of a sample: representation RS, diversity DS, boundary proximity S_neg."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.errors import ScopeError

Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.integer[Any]]

TILE_BYTES = 1 << 20
NORM_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Scores:
    """Scores of N samples: rs, ds, s_neg (N,) and the rival class (N,) that attains s_neg.

    >>> Scores(np.ones(2), np.zeros(2), np.zeros(2))[1:].rs
    array([1.])
    """

    rs: Floats
    ds: Floats
    s_neg: Floats
    rival: Labels | None = None

    def __len__(self) -> int:
        """Count the samples."""
        return len(self.rs)

    def __getitem__(self, rows: Any) -> "Scores":
        """Take some of the samples: a slice, row numbers, or a boolean array."""
        rival = None if self.rival is None else self.rival[rows]
        return Scores(self.rs[rows], self.ds[rows], self.s_neg[rows], rival)


def score(v_img: Floats, prototypes: Floats, labels: Labels) -> Scores:
    """Score unit image rows (N, D) of classes `labels` (N,) against unit prototypes (C, D).

    >>> s = score(np.float32([[0.6, 0.8]]), np.eye(2, dtype=np.float32), np.array([0]))
    >>> s.rs, s.ds, s.s_neg
    (array([0.6], dtype=float32), array([0.79999995], dtype=float32), array([0.8], dtype=float32))
    """
    _check_shapes(v_img, prototypes)
    n, n_classes = len(v_img), len(prototypes)
    labels = check_labels(labels, n, n_classes)
    prototypes = np.asarray(prototypes, np.float32)
    _check_unit(prototypes, 0, "prototypes")
    rs, s_neg = np.empty(n, np.float32), np.empty(n, np.float32)
    rival = np.empty(n, np.int32)
    padded = np.zeros((-(-n_classes // 16) * 16, prototypes.shape[1]), np.float32)
    padded[:n_classes] = prototypes
    tile = _tile_rows(len(padded))
    similarity = np.empty((tile, len(padded)), np.float32)
    for start in range(0, n, tile):
        rows = slice(start, min(start + tile, n))
        _similarities(v_img[rows], padded, similarity, start)
        here = np.arange(rows.stop - start)
        rs[rows] = similarity[here, labels[rows]]
        similarity[here, labels[rows]] = -np.inf
        similarity[:, n_classes:] = -np.inf
        rival[rows] = similarity.argmax(axis=1)[: len(here)]
        s_neg[rows] = similarity[here, rival[rows]]
    return Scores(rs, residual(rs), s_neg, rival)


def residual(rs: Floats) -> NDArray[np.float32]:
    """Length of what is orthogonal to the prototype, sqrt(max(0, 1 - RS^2)), in float64 inside.

    >>> residual(np.float32([0, 1, 1.0000001]))
    array([1., 0., 0.], dtype=float32)
    """
    return np.sqrt(np.maximum(0.0, 1.0 - np.square(rs, dtype=np.float64))).astype(np.float32)


def check_labels(labels: Labels, n: int, n_classes: int) -> Labels:
    """Give back labels that are N whole class numbers in 0..C-1, or say which is not."""
    labels = np.asarray(labels)
    if labels.shape != (n,):
        raise ScopeError(f"labels must have one entry a sample, ({n},), got shape {labels.shape}")
    if n and labels.dtype.kind not in "iu":
        raise ScopeError(f"labels must be whole class numbers, got {labels.dtype}")
    if n and (labels.min() < 0 or labels.max() >= n_classes):
        row = int(np.argmax((labels < 0) | (labels >= n_classes)))
        raise ScopeError(
            f"labels must be in 0..{n_classes - 1}, got {labels[row]} at row {row}; "
            "give the class list that the labels belong to"
        )
    return labels if n else labels.astype(np.int64)


def _similarities(
    rows: Floats, prototypes: NDArray[np.float32], out: NDArray[np.float32], start: int
) -> None:
    # Every product has one shape, so that BLAS takes the same path for a row wherever it stands:
    # the scores of a sample then depend neither on its neighbours nor on the order of the data.
    tile = np.ascontiguousarray(rows, dtype=np.float32)
    _check_unit(tile, start, "v_img")
    if len(tile) < len(out):
        tile = np.concatenate([tile, np.zeros((len(out) - len(tile), tile.shape[1]), np.float32)])
    np.matmul(tile, prototypes.T, out=out)


def _tile_rows(columns: int) -> int:
    return min(1024, max(64, TILE_BYTES // (4 * columns) // 64 * 64))


def _check_shapes(v_img: Floats, prototypes: Floats) -> None:
    if np.ndim(v_img) != 2 or np.ndim(prototypes) != 2 or v_img.shape[1] != prototypes.shape[1]:
        raise ScopeError(
            "v_img must be (N, D) and prototypes (C, D) with the same D, "
            f"got {np.shape(v_img)} and {np.shape(prototypes)}"
        )
    if len(prototypes) < 2:
        raise ScopeError(
            f"prototypes must hold at least 2 classes, got {len(prototypes)}: "
            "with one class S_neg has no rival; add the classes the images could be confused with"
        )


def _check_unit(rows: NDArray[np.float32], start: int, name: str) -> None:
    norm = np.einsum("ij,ij->i", rows, rows)
    off = ~(np.abs(norm - 1) <= 2 * NORM_TOLERANCE)
    if off.any():
        row = int(off.argmax())
        found = f"norm {np.sqrt(norm[row]):.4g}" if np.isfinite(norm[row]) else "NaN or infinity"
        raise ScopeError(
            f"{name} must have unit rows, got {found} in row {start + row}; "
            "divide each row by its norm and drop rows that are not finite"
        )
