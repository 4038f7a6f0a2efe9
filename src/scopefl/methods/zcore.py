"""ZCore (2025): keep what covers random planes of the embedding space and crowds nobody."""

import numpy as np
from numpy.typing import NDArray

from scopefl.methods.method import Client, ranker

DRAWS = 1_000_000
DRAWS_A_SAMPLE = 10
NEIGHBOURS = 1000
BATCH = 64


def coverage(client: Client) -> NDArray[np.float64]:
    """Give each sample's score (N,): hits of random points minus crowding of its neighbours."""
    rng, n = client.rng(), len(client)
    score = rng.random(n)
    if n < 2:
        return score
    x = client.embeddings.astype(np.float64)
    low, middle, high = x.min(axis=0), np.median(x, axis=0), x.max(axis=0)
    for start in range(0, min(DRAWS, DRAWS_A_SAMPLE * n), BATCH):
        batch = min(BATCH, DRAWS_A_SAMPLE * n - start)
        planes = np.array([rng.choice(x.shape[1], 2, replace=False) for _ in range(batch)])
        share = _triangular(rng.random((batch, 2)), low[planes], middle[planes], high[planes])
        score += votes(x, planes, share)
    return score


def votes(
    x: NDArray[np.float64], planes: NDArray[np.intp], points: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Let each point (B, 2) in its plane give 1 to the nearest sample and take 1 from around it.

    >>> votes(np.array([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]]), np.array([[0, 1]]), np.zeros((1, 2)))
    array([ 1.        , -0.98780488, -0.01219512])
    """
    n = len(x)
    first, second = x[:, planes[:, 0]].T, x[:, planes[:, 1]].T
    hit = (np.abs(first - points[:, :1]) + np.abs(second - points[:, 1:])).argmin(axis=1)
    each = np.arange(len(planes))
    around = np.abs(first - first[each, hit][:, None]) + np.abs(second - second[each, hit][:, None])
    around[each, hit] = np.inf
    near = np.argpartition(around, min(NEIGHBOURS, n - 1) - 1, axis=1)[:, :NEIGHBOURS]
    distance = np.take_along_axis(around, near, axis=1)
    penalty = _penalties(distance)
    score = np.bincount(hit, minlength=n).astype(np.float64)
    score -= np.bincount(near.ravel(), penalty.ravel(), minlength=n)
    return score


def _penalties(distance: NDArray[np.float64]) -> NDArray[np.float64]:
    # A twin at distance 0 takes the whole penalty: the limit of the d^-4 shares.
    nearest = distance.min(axis=1, keepdims=True)
    twin = distance == nearest
    first_twin = twin & (twin.cumsum(axis=1) == 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (nearest / distance) ** 4
    share = np.where(nearest > 0, share, first_twin)
    normalised: NDArray[np.float64] = share / share.sum(axis=1, keepdims=True)
    return normalised


def _triangular(
    u: NDArray[np.float64],
    low: NDArray[np.float64],
    middle: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64]:
    # By the inverse of its distribution, which also takes low = high, where numpy's own refuses.
    wide, left, right = high - low, middle - low, high - middle
    below = u * wide < left
    point: NDArray[np.float64] = np.where(
        below, low + np.sqrt(u * wide * left), high - np.sqrt((1 - u) * wide * right)
    )
    return point


ZCORE = ranker(coverage, "embeddings")
