"""What came of a federated training, round by round."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.train.learner import Weights

LAST = 10
"""Rounds that results are averaged over, and that are therefore always evaluated."""


@dataclass(frozen=True)
class Round:
    """One round: who trained on how much, and where evaluated, right answers of each class.

    `changed` is the share of test predictions that differ from the evaluation before.
    """

    number: int
    clients: tuple[int, ...]
    samples: int
    seconds: float
    correct: tuple[int, ...] | None = None
    changed: float | None = None


@dataclass(frozen=True)
class History:
    """All rounds, the test examples of each class (C,), the last predictions and weights."""

    rounds: tuple[Round, ...]
    test_count: NDArray[np.int64]
    predictions: NDArray[np.int64]
    weights: Weights

    @property
    def evaluated(self) -> tuple[Round, ...]:
        """Give the rounds that were evaluated."""
        return tuple(each for each in self.rounds if each.correct is not None)

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Give the accuracy after each evaluated round."""
        right = [sum(each.correct) for each in self.rounds if each.correct is not None]
        return np.asarray(np.array(right, np.float64) / max(self.test_count.sum(), 1))

    @property
    def samples(self) -> int:
        """Count how often any example was trained on."""
        return sum(each.samples for each in self.rounds)

    @property
    def seconds(self) -> float:
        """Add up the time of all rounds."""
        return sum(each.seconds for each in self.rounds)
