"""A linear head on cached embeddings in numpy alone, so that hundreds of trainings fit a laptop."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import Labels
from scopefl.errors import ScopeError
from scopefl.train.learner import Examples, Outputs, Weights
from scopefl.train.plan import Plan

Matrix = NDArray[np.float32]


@dataclass(frozen=True)
class Probe:
    """Multinomial logistic regression of D features on C classes; weights are [(C, D), (C,)]."""

    n_features: int
    n_classes: int

    def start(self, rng: np.random.Generator) -> Weights:  # noqa: ARG002
        """Give zeros: the loss is convex, no symmetry needs breaking."""
        shape = self.n_classes, self.n_features
        return [np.zeros(shape, np.float32), np.zeros(self.n_classes, np.float32)]

    def train(
        self, weights: Weights, data: Examples, plan: Plan, lr: float, rng: np.random.Generator
    ) -> Weights:
        """Give the weights after the plan's local epochs of mini-batch SGD with momentum."""
        x = self._checked(data.x)
        w, b = (array.copy() for array in weights)
        speeds = np.zeros_like(w), np.zeros_like(b)
        # A step that diverges is found by the runner, which knows the round and the client.
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(plan.local_epochs):
                order = rng.permutation(len(x))
                xs, ys = x[order], data.y[order]
                shares = None if data.weight is None else data.weight[order].astype(np.float32)
                for at in range(0, len(xs), plan.batch_size):
                    rows = slice(at, at + plan.batch_size)
                    share = None if shares is None else shares[rows]
                    error = mean_error(w, b, xs[rows], ys[rows], share)
                    _step(w, speeds[0], error @ xs[rows], plan, lr)
                    _step(b, speeds[1], error.sum(axis=1), plan, lr)
        return [w, b]

    def predict(self, weights: Weights, x: NDArray[Any]) -> NDArray[np.int64]:
        """Give the most likely class of each row (N,)."""
        return np.asarray(self.logits_and_features(weights, x).logits.argmax(axis=1), np.int64)

    def logits_and_features(self, weights: Weights, x: NDArray[Any]) -> Outputs:
        """Give logits (N, C); the features are the embeddings themselves."""
        x = self._checked(x)
        w, b = weights
        return Outputs(x @ w.T + b, x)

    def gradient(self, weights: Weights, data: Examples) -> Weights:
        """Give the gradient of the mean loss in the weights and the bias."""
        x = self._checked(data.x)
        w, b = weights
        weight = None if data.weight is None else np.asarray(data.weight, np.float32)
        error = mean_error(w, b, x, data.y, weight)
        return [error @ x, error.sum(axis=1)]

    def forward_flops(self) -> int:
        """Count a multiply and an add for each weight."""
        return 2 * self.n_classes * self.n_features

    def train_flops(self) -> int:
        """Count the forward pass and the gradient of the weights; none flows to the input."""
        return 2 * self.forward_flops()

    def _checked(self, x: NDArray[Any]) -> Matrix:
        if x.ndim != 2 or x.shape[1] != self.n_features:
            raise ScopeError(f"x must be (N, {self.n_features}) embeddings, got shape {x.shape}")
        return np.asarray(x, np.float32)


def mean_error(w: Matrix, b: Matrix, x: Matrix, y: Labels, weight: Matrix | None = None) -> Matrix:
    """Give the gradient (C, B) of the weighted mean cross entropy in the logits of B rows."""
    # Classes go down, rows across: numpy then reduces along whole cache lines.
    error: Matrix = w @ x.T
    error += b[:, None]
    error -= error.max(axis=0)
    np.exp(error, out=error)
    error /= error.sum(axis=0)
    error[y, np.arange(len(y))] -= 1
    error *= 1 / len(y) if weight is None else weight / weight.sum()
    return error


def _step(values: Matrix, speed: Matrix, gradient: Matrix, plan: Plan, lr: float) -> None:
    if plan.weight_decay:
        gradient += plan.weight_decay * values
    speed *= plan.momentum
    speed += gradient
    values -= lr * speed
