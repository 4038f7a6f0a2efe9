"""Embeddings made ready for the probe once: centred, scaled, and on fewer axes if wished."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.errors import ScopeError
from scopefl.train.probe import Matrix

SQUARED_NORM = 16.0


@dataclass(frozen=True)
class Projection:
    """An affine map to fewer features: mean (D,), axes (D, d) with the scale in them."""

    mean: Matrix
    axes: Matrix

    def __call__(self, x: NDArray[Any]) -> Matrix:
        """Give the features (N, d) of embeddings (N, D)."""
        return np.asarray((np.asarray(x, np.float32) - self.mean) @ self.axes)


def principal(x: NDArray[Any], n_features: int) -> Projection:
    """Project on the axes along which the embeddings x (N, D) vary most."""
    mean, centred = _centred(x, n_features)
    # The D x D matrix fits memory however many rows there are.
    covariance = np.asarray(centred.T @ centred, np.float64)
    axes = np.linalg.eigh(covariance)[1][:, ::-1][:, :n_features]
    # An axis and its opposite are equally principal: fix the sign, so that machines agree.
    axes = axes * np.where(axes[np.abs(axes).argmax(axis=0), range(n_features)] < 0, -1, 1)
    return _scaled(mean, axes, centred)


def random(x: NDArray[Any], n_features: int, rng: np.random.Generator) -> Projection:
    """Project on random orthogonal axes; only the mean and the scale come from x (N, D)."""
    mean, centred = _centred(x, n_features)
    axes = np.linalg.qr(rng.standard_normal((centred.shape[1], n_features)))[0]
    return _scaled(mean, axes, centred)


def _centred(x: NDArray[Any], n_features: int) -> tuple[Matrix, Matrix]:
    if x.ndim != 2 or not 1 <= n_features <= x.shape[1]:
        raise ScopeError(
            f"embeddings must be (N, D) with D at least {n_features} features, got shape {x.shape}"
        )
    x = np.asarray(x, np.float32)
    mean = x.mean(axis=0, dtype=np.float64).astype(np.float32)
    return mean, x - mean


def _scaled(mean: Matrix, axes: NDArray[np.float64], centred: Matrix) -> Projection:
    features = centred @ axes.astype(np.float32)
    norm = np.square(features, dtype=np.float64).sum(axis=1).mean()
    scale = np.sqrt(SQUARED_NORM / norm) if norm else 1.0
    return Projection(mean, (axes * scale).astype(np.float32))
