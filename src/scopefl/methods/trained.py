"""What a warmed-up model finds hard: EL2N, GraNd and forgetting, the highest kept."""

import numpy as np
from numpy.typing import NDArray

from scopefl.methods.method import Client, Trained, WarmUp, ranker


def softmax(logits: NDArray[np.float32]) -> NDArray[np.float64]:
    """Give probabilities (N, C)."""
    shifted = np.exp(logits.astype(np.float64) - logits.max(axis=1, keepdims=True, initial=-np.inf))
    normalised: NDArray[np.float64] = shifted / shifted.sum(axis=1, keepdims=True)
    return normalised


def errors(client: Client, trained: Trained) -> NDArray[np.float64]:
    """Give softmax minus one-hot label (N, C), the gradient of the loss by the logits."""
    error = softmax(trained.logits)
    error[np.arange(len(client)), client.labels] -= 1
    return error


def el2n(client: Client) -> NDArray[np.float64]:
    """Give the length of the error vector (N,), the mean over the repeats of the warm-up."""
    return _mean(client, [np.linalg.norm(errors(client, t), axis=1) for t in _models(client)])


def grand(client: Client) -> NDArray[np.float64]:
    """Give the length of the last layer's gradient (N,), the mean over the repeats.

    The gradient is the outer product of error and (1, features), of each sample on its own:
    averaging the loss over a batch first would favour the last, shorter batch.
    """
    return _mean(
        client,
        [
            np.linalg.norm(errors(client, t), axis=1)
            * np.sqrt(1 + np.square(t.features, dtype=np.float64).sum(axis=1))
            for t in _models(client)
        ],
    )


def forgetting(client: Client) -> NDArray[np.float64]:
    """Give how often each sample was learned and lost (N,), the mean over the repeats."""
    return _mean(client, [t.forgotten.astype(np.float64) for t in _models(client)])


def count_forgotten(right: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Count changes from right to wrong over T looks (T, N); never right counts T.

    >>> count_forgotten(np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1], [0, 0, 1]], bool))
    array([2, 4, 0])
    """
    lost = (right[:-1] & ~right[1:]).sum(axis=0)
    return np.where(right.any(axis=0), lost, len(right)).astype(np.int64)


def _models(client: Client) -> tuple[Trained, ...]:
    return client.warm or (client.trained,)


def _mean(client: Client, values: list[NDArray[np.float64]]) -> NDArray[np.float64]:
    mean: NDArray[np.float64] = np.mean(values, axis=0) if len(client) else np.empty(0)
    return mean


EL2N = ranker(el2n, "warm-up", WarmUp())
GRAND = ranker(grand, "warm-up", WarmUp())
FORGETTING = ranker(forgetting, "warm-up", WarmUp(rounds=20, epochs=1, watched=True))
