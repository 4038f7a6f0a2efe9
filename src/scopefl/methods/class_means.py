"""The message of methods that share class means: which classes, and a float32 row of each."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scopefl.core.envelope import Body, seal, unseal, varint
from scopefl.core.profile import MAX_CLASSES
from scopefl.core.scores import Labels
from scopefl.errors import ScopeError

MAX_DIM = 1 << 16


def class_means(rows: NDArray[np.floating], labels: Labels, n_classes: int) -> NDArray[np.float32]:
    """Give the mean of each class's rows (C, D), NaN where a class is absent.

    >>> class_means(np.array([[1.0], [3.0]]), np.array([1, 1]), 2)
    array([[nan],
           [ 2.]], dtype=float32)
    """
    means = np.full((n_classes, rows.shape[1]), np.nan, np.float32)
    for c in np.unique(labels):
        means[c] = rows[labels == c].mean(axis=0, dtype=np.float64)
    return means


def encode(means: NDArray[np.float32]) -> bytes:
    """Encode class means (C, D); absent classes cost one bit.

    >>> len(encode(np.full((16, 512), np.nan, np.float32)))
    13
    """
    present = np.isfinite(means).all(axis=1)
    head = varint(means.shape[0]) + varint(means.shape[1]) + np.packbits(present).tobytes()
    return seal(b"M", head + means[present].astype("<f4").tobytes())


def decode(message: bytes) -> NDArray[np.float32]:
    """Decode what `encode` wrote."""
    fields = Body(unseal(b"M", message))
    n_classes, dim = fields.varint(MAX_CLASSES), fields.varint(MAX_DIM)
    bits = np.frombuffer(fields.take(-(-n_classes // 8)), np.uint8)
    present = np.unpackbits(bits, count=n_classes).astype(bool)
    rows = np.frombuffer(fields.rest(), "<f4")
    if rows.size != present.sum() * dim or not np.isfinite(rows).all():
        raise ScopeError(f"these class means must be {present.sum()} finite rows of {dim} numbers")
    means = np.full((n_classes, dim), np.nan, np.float32)
    means[present] = rows.reshape(-1, dim)
    return means


def median(messages: Sequence[bytes]) -> bytes:
    """Merge by the median of each number over the clients that hold the class, all alike."""
    sent = np.stack([decode(message) for message in messages])
    known = np.logical_and.reduce(np.isfinite(sent), axis=2)
    merged = np.full(sent.shape[1:], np.nan, np.float32)
    for c in np.flatnonzero(known.any(axis=0)):
        merged[c] = np.median(sent[known[:, c], c], axis=0)
    return encode(merged)
