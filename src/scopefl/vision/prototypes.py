"""Visual prototypes: class means of embeddings over all sites, each sample scored without itself.

Where an encoder cannot read the class names, its image features may still tell the classes apart.
Sites add up their embeddings per class; a sample is then compared with the class means that leave
it out, after the common mean of all samples is taken away from both.
"""

import hashlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core.envelope import Body, seal, unseal, varint
from scopefl.core.scores import Scores, residual
from scopefl.errors import FingerprintError, ScopeError

KIND = b"C"
UNIT = 1 << 20
"""One as an integer: sums are of round(x * 2^20), so that adding sites up is exact in any order."""
MAX_CLASSES = 100_000
MAX_DIM = 65_536
MAX_COUNT = 1 << 40
CHUNK = 4_096
LARGEST_MESSAGE = 64 << 20
_FINGERPRINT = 8
_TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Centroids:
    """Per class: how many embeddings, count (C,), and their sum, sums (C, D), int64 in 2^-20."""

    count: NDArray[np.int64]
    sums: NDArray[np.int64]

    @classmethod
    def empty(cls, n_classes: int, dim: int) -> "Centroids":
        """Give the centroids of no samples, which add nothing."""
        return cls(np.zeros(n_classes, np.int64), np.zeros((n_classes, dim), np.int64))

    @classmethod
    def of(
        cls, rows: NDArray[np.floating], labels: NDArray[np.integer], n_classes: int
    ) -> "Centroids":
        """Add up unit rows (N, D) by their class numbers (N,)."""
        if rows.ndim != 2 or len(rows) != len(labels):
            raise ScopeError(
                f"every embedding must have a label, got {rows.shape} and {labels.shape}"
            )
        if len(labels) and not (labels.min() >= 0 and labels.max() < n_classes):
            raise ScopeError(f"labels must be 0 to {n_classes - 1}")
        found = cls.empty(n_classes, rows.shape[1])
        np.add.at(found.count, labels, 1)
        for start in range(0, len(rows), CHUNK):
            np.add.at(found.sums, labels[start : start + CHUNK], quantised(rows[start:][:CHUNK]))
        return found

    def __add__(self, other: "Centroids") -> "Centroids":
        """Give the centroids of both sites' samples together."""
        if self.sums.shape != other.sums.shape:
            raise ScopeError(
                f"centroids must have the same classes and dimension, got {self.sums.shape} "
                f"and {other.sums.shape}"
            )
        return Centroids(self.count + other.count, self.sums + other.sums)

    @property
    def sha256(self) -> str:
        """Name exactly these centroids."""
        return hashlib.sha256(self.count.tobytes() + self.sums.tobytes()).hexdigest()

    def to_bytes(self, fingerprint: bytes) -> bytes:
        """Give the message a site sends; `fingerprint` is its kit's."""
        classes, dim = self.sums.shape
        head = fingerprint + varint(classes) + varint(dim)
        counts = b"".join(varint(int(count)) for count in self.count)
        present = self.sums[self.count > 0]
        return seal(KIND, head + counts + present.astype("<i8").tobytes())

    @classmethod
    def from_bytes(cls, message: bytes, fingerprint: bytes | None = None) -> "Centroids":
        """Read a message; with `fingerprint`, only one of the same kit."""
        body = Body(unseal(KIND, message))
        found = body.take(_FINGERPRINT)
        if fingerprint is not None and found != fingerprint:
            raise FingerprintError(
                f"centroids must come from the kit {fingerprint.hex()}, these come from "
                f"{found.hex()}; score again with the same kit"
            )
        classes, dim = body.varint(MAX_CLASSES), body.varint(MAX_DIM)
        count = np.array([body.varint(MAX_COUNT) for _ in range(classes)], np.int64)
        rows = body.rest()
        if len(rows) != 8 * dim * int((count > 0).sum()):
            raise ScopeError("centroids must hold one sum for each class that is present")
        centroids = cls.empty(classes, dim)
        centroids.count[:] = count
        centroids.sums[count > 0] = np.frombuffer(rows, "<i8").reshape(-1, dim)
        most = UNIT * count[:, None]
        if ((centroids.sums > most) | (centroids.sums < -most)).any():
            raise ScopeError("a sum of unit rows must not exceed their number")
        return centroids


def fingerprint_of(message: bytes) -> bytes:
    """Give the fingerprint of the kit that centroids were made with."""
    return Body(unseal(KIND, message)).take(_FINGERPRINT)


def quantised(rows: NDArray[np.floating]) -> NDArray[np.int64]:
    """Give rows in units of 2^-20, refusing what is no unit row."""
    lengths = np.linalg.norm(np.asarray(rows, np.float64), axis=1)
    if not (np.abs(lengths - 1) <= 1e-3).all():
        raise ScopeError("embeddings must be finite rows of length 1")
    return np.rint(np.asarray(rows, np.float64) * UNIT).astype(np.int64)


def leave_one_out(
    rows: NDArray[np.floating], labels: NDArray[np.integer], centroids: Centroids
) -> Scores:
    """Score unit rows (N, D), all counted in `centroids`, against class means without themselves.

    A class of nobody is no rival. A sample that is alone in its class, or in one that was not told
    because too few sites hold it, has RS 0: nothing speaks for or against it.
    """
    return against_means(rows, labels, labels, centroids)


def against_means(
    rows: NDArray[np.floating],
    labels: NDArray[np.integer],
    asked: NDArray[np.integer],
    centroids: Centroids,
) -> Scores:
    """Score rows as if of the classes `asked`; each is left out of its own label's mean."""
    present = centroids.count > 0
    if present.sum() < 2:
        raise ScopeError("at least two classes must have samples, S_neg compares a class with them")
    held = np.bincount(labels, minlength=len(present)) * present if len(labels) else 0
    if np.any(held > centroids.count):
        raise ScopeError("the centroids must count every sample that is scored against them")
    parts = [
        _leave_one_out(rows[start:][:CHUNK], labels[start:][:CHUNK], centroids)
        for start in range(0, len(rows), CHUNK)
    ]
    cosines = np.concatenate(parts) if parts else np.zeros((0, len(present)))
    here = np.arange(len(cosines))
    rs = cosines[here, asked].astype(np.float32)
    cosines[here, asked] = -np.inf
    cosines[:, ~present] = -np.inf
    rival = cosines.argmax(axis=1)
    return Scores(rs, residual(rs), cosines[here, rival].astype(np.float32), rival)


def _leave_one_out(
    rows: NDArray[np.floating], labels: NDArray[np.integer], centroids: Centroids
) -> NDArray[np.float64]:
    """Give the cosine of every row with every class mean, both less the mean of all others."""
    v = quantised(rows).astype(np.float64) / UNIT
    sums = centroids.sums / UNIT
    n = centroids.count.astype(np.float64)
    means = sums / np.maximum(n, 1)[:, None]
    counted = n[labels] > 0
    others = (sums.sum(axis=0) - v * counted[:, None]) / (n.sum() - counted)[:, None]
    x = v - others
    dots = x @ means.T - (x * others).sum(axis=1)[:, None]
    lengths = (means**2).sum(axis=1) - 2 * others @ means.T + (others**2).sum(axis=1)[:, None]
    cosines = dots / np.sqrt(np.maximum(lengths, _TINY))
    own = (sums[labels] - v) / np.maximum(n[labels] - 1, 1)[:, None] - others
    alone = n[labels] <= 1
    own_cosine = (x * own).sum(axis=1) / np.maximum(np.linalg.norm(own, axis=1), _TINY)
    cosines[np.arange(len(v)), labels] = np.where(alone, 0.0, own_cosine)
    scaled: NDArray[np.float64] = cosines / np.maximum(np.linalg.norm(x, axis=1), _TINY)[:, None]
    return np.clip(scaled, -1.0, 1.0)
