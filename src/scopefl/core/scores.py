"""The three scores of a sample: representation RS, diversity DS, boundary proximity S_neg."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.errors import ScopeError

Floats = NDArray[np.floating[Any]]
Labels = NDArray[np.integer[Any]]

CACHE_BYTES = 1 << 20
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

    @classmethod
    def concatenated(cls, parts: "Sequence[Scores]") -> "Scores":
        """Join scores end to end; those of nothing where there are no parts."""
        if not parts:
            nothing = np.zeros(0, np.float32)
            return cls(nothing, nothing, nothing, np.zeros(0, np.int32))
        rivals = [part.rival for part in parts if part.rival is not None]
        return cls(
            np.concatenate([part.rs for part in parts]),
            np.concatenate([part.ds for part in parts]),
            np.concatenate([part.s_neg for part in parts]),
            np.concatenate(rivals) if len(rivals) == len(parts) else None,
        )

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
    prototypes = np.ascontiguousarray(prototypes, np.float32)
    _check_unit(prototypes, 0, "prototypes")
    rs, s_neg = np.empty(n, np.float32), np.empty(n, np.float32)
    rival = np.empty(n, np.int32)
    tile = _Tile(prototypes)
    for start in range(0, n, tile.rows):
        here = slice(start, min(start + tile.rows, n))
        images = np.ascontiguousarray(v_img[here], np.float32)
        _check_unit(images, start, "v_img")
        rs[here] = tile.cosines(images, labels[here])
        rival[here], s_neg[here] = tile.rivals(images, labels[here])
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


class _Tile:
    """Works on as many rows at a time as the cache holds.

    A BLAS product may differ in its last bit with the place of a row in the matrix. So it only
    proposes the rivals, within its error bound, and a product of the two rows alone decides: the
    scores of a sample depend on nothing but the sample.
    """

    def __init__(self, prototypes: NDArray[np.float32]) -> None:
        n_classes, dimension = prototypes.shape
        self.prototypes = prototypes
        self.rows = min(384, max(16, CACHE_BYTES // (4 * n_classes)))
        self.error = np.float32(2 * dimension * np.finfo(np.float32).eps)
        self._gathered = np.empty((self.rows, dimension), np.float32)
        self._similarity = np.empty((self.rows, n_classes), np.float32)
        self._near = np.empty((self.rows, n_classes), np.bool_)

    def cosines(self, images: NDArray[np.float32], classes: Labels) -> NDArray[np.float32]:
        """Multiply each image row with the prototype of its class."""
        gathered = self._gathered[: len(images)]
        np.take(self.prototypes, classes, axis=0, out=gathered, mode="clip")
        cosines: NDArray[np.float32] = np.vecdot(images, gathered)
        return cosines

    def rivals(
        self, images: NDArray[np.float32], labels: Labels
    ) -> tuple[Labels, NDArray[np.float32]]:
        """Find the nearest other class of each row, the lowest number where two are equal."""
        n = len(images)
        similarity, near = self._similarity[:n], self._near[:n]
        np.matmul(images, self.prototypes.T, out=similarity)
        rows = np.arange(n)
        similarity[rows, labels] = -np.inf
        top = similarity.argmax(axis=1)
        least = (similarity[rows, top] - self.error)[:, None]
        np.greater_equal(similarity, least, out=near)
        near[rows, top] = False
        best = self.cosines(images, top)
        row, rival = np.divmod(np.flatnonzero(near), near.shape[1])
        for start in range(0, len(row), self.rows):
            here = slice(start, start + self.rows)
            self._prefer(row[here], rival[here], images, top, best)
        return top, best

    def _prefer(
        self,
        row: Labels,
        rival: Labels,
        images: NDArray[np.float32],
        top: Labels,
        best: NDArray[np.float32],
    ) -> None:
        """Put into top and best (N,) the rivals that are nearer to their row than what is there."""
        cosine = self.cosines(images[row], rival)
        order = np.lexsort((-rival, cosine))
        row, rival, cosine = row[order], rival[order], cosine[order]
        better = (cosine > best[row]) | ((cosine == best[row]) & (rival < top[row]))
        # Of several for one row the last counts, which is the nearest.
        top[row[better]], best[row[better]] = rival[better], cosine[better]


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
    norm: NDArray[np.float32] = np.vecdot(rows, rows)
    off = ~(np.abs(norm - 1) <= 2 * NORM_TOLERANCE)
    if off.any():
        row = int(off.argmax())
        found = f"norm {np.sqrt(norm[row]):.4g}" if np.isfinite(norm[row]) else "NaN or infinity"
        raise ScopeError(
            f"{name} must have unit rows, got {found} in row {start + row}; "
            "divide each row by its norm and drop rows that are not finite"
        )
