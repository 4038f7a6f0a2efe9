"""A map of embeddings: principal components, then t-SNE; computed once and kept."""

import hashlib
import io
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.data.files import write_bytes

COMPONENTS = 50
PERPLEXITY = 30
SEED = 0


def layout(embeddings: NDArray[np.floating[Any]], cache: Path | None) -> NDArray[np.float32]:
    """Place rows (n, D) in the plane (n, 2), near ones near; taken from `cache` if it is there."""
    rows = np.ascontiguousarray(embeddings, np.float32)
    if len(rows) < 4:
        return np.stack([np.arange(len(rows)), np.zeros(len(rows))], axis=1).astype(np.float32)
    if cache is None:
        return _tsne(rows)
    key = hashlib.sha256(rows.tobytes() + repr((rows.shape, COMPONENTS, PERPLEXITY)).encode())
    kept = cache / "maps" / f"{key.hexdigest()[:32]}.npy"
    if kept.is_file():
        return np.asarray(np.load(kept, allow_pickle=False), np.float32)
    placed = _tsne(rows)
    data = io.BytesIO()
    np.save(data, placed, allow_pickle=False)
    write_bytes(kept, data.getvalue())
    return placed


def _tsne(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    from openTSNE import TSNE

    method = TSNE(
        perplexity=min(PERPLEXITY, (len(rows) - 1) / 3),
        initialization="pca",
        negative_gradient_method="fft",
        n_iter=300,
        random_state=SEED,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the neighbour search, about rows that repeat
        return np.asarray(method.fit(principal(rows)), np.float32)


def principal(rows: NDArray[np.float32]) -> NDArray[np.float32]:
    """Turn rows (n, D) to their main axes and keep at most 50 of them.

    >>> principal(np.float32([[0, 1, 0], [0, 3, 0]])).round()[:, 0].tolist() in ([-1, 1], [1, -1])
    True
    """
    from sklearn.decomposition import PCA

    # A full decomposition of 2,000 rows costs ten times as much, and the map does not see it.
    axes = PCA(min(COMPONENTS, *rows.shape), svd_solver="randomized", random_state=SEED)
    return np.asarray(axes.fit_transform(rows), np.float32)
