"""What can be trained: anything that turns weights and examples into better weights."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import Floats, Labels
from scopefl.errors import ScopeError
from scopefl.train.plan import Plan

Weights = list[NDArray[np.float32]]


@dataclass(frozen=True)
class Examples:
    """Inputs x (N, ...) with their class numbers y (N,), and what each counts, weight (N,)."""

    x: NDArray[Any]
    y: Labels
    weight: Floats | None = None

    def __post_init__(self) -> None:
        """Refuse parts of different lengths."""
        lengths = {len(self.x), len(self.y), len(self.y if self.weight is None else self.weight)}
        if len(lengths) > 1:
            raise ScopeError(f"x, y and weight must be equally long, got lengths {sorted(lengths)}")

    def __len__(self) -> int:
        """Count the examples."""
        return len(self.y)

    def __getitem__(self, rows: Any) -> "Examples":
        """Take some of the examples: a slice, row numbers, or a boolean array."""
        weight = None if self.weight is None else self.weight[rows]
        return Examples(self.x[rows], self.y[rows], weight)


class Outputs(NamedTuple):
    """What a model says of N inputs: logits (N, C), and features (N, F) its last layer reads."""

    logits: NDArray[np.float32]
    features: NDArray[np.float32]


def losses(logits: Floats, y: Labels) -> NDArray[np.float64]:
    """Give the cross entropy of each example (N,).

    >>> losses(np.zeros((1, 2)), np.array([0]))
    array([0.69314718])
    """
    wide = np.asarray(logits, np.float64)
    top = wide.max(axis=1)
    total = np.log(np.exp(wide - top[:, None]).sum(axis=1)) + top
    return np.asarray(total - wide[np.arange(len(y)), y])


class Learner(Protocol):
    """A model without its weights: they come in and go out as a list of float32 arrays."""

    @property
    def n_classes(self) -> int:
        """Count the classes that are told apart."""
        ...

    def start(self, rng: np.random.Generator) -> Weights:
        """Give the weights before any training."""
        ...

    def train(
        self, weights: Weights, data: Examples, plan: Plan, lr: float, rng: np.random.Generator
    ) -> Weights:
        """Give the weights after the plan's local epochs on `data`; the given ones stay."""
        ...

    def predict(self, weights: Weights, x: NDArray[Any]) -> NDArray[np.int64]:
        """Give the most likely class of each input (N,)."""
        ...

    def logits_and_features(self, weights: Weights, x: NDArray[Any]) -> Outputs:
        """Give what baselines score by, in evaluation mode."""
        ...

    def gradient(self, weights: Weights, data: Examples) -> Weights:
        """Give the gradient of the mean loss on `data` in what is trained, in evaluation mode."""
        ...

    def forward_flops(self) -> int:
        """Count the floating-point operations to predict one input, a multiply-add as two."""
        ...

    def train_flops(self) -> int:
        """Count the floating-point operations to train on one example once."""
        ...
