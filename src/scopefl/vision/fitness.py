"""Whether an encoder reads the classes at all, before anything is pruned by it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import Labels, Scores
from scopefl.data.scores_file import NOT_AT_ALL

WELL, WEAKLY, UNKNOWN = "well", "weakly", "unknown"
GOOD, CHANCE = 0.85, 0.65
"""Bounds of the verdict on the AUC; 0.5 is a coin, real confusions are harder than shuffled."""


@dataclass(frozen=True)
class ClassFitness:
    """How one class is read: recall by nearest prototype, mean of RS - S_neg, AUC, confusion."""

    name: str
    samples: int
    recall: float | None
    margin: float | None
    auc: float | None
    confused_with: str | None


@dataclass(frozen=True)
class Fitness:
    """How all classes are read: `auc` is of true labels against shuffled ones, class by class."""

    classes: tuple[ClassFitness, ...]
    recall: float | None
    auc: float | None

    @property
    def verdict(self) -> str:
        """Give the verdict: well, weakly, or not at all; unknown where nothing was scored."""
        if self.auc is None:
            return UNKNOWN
        if self.auc < CHANCE:
            return NOT_AT_ALL
        return WELL if self.auc >= GOOD else WEAKLY

    @property
    def sentence(self) -> str:
        """Give the verdict as a sentence."""
        if self.auc is None:
            return "no image was scored, so whether this encoder reads your classes is unknown"
        told = (
            "told apart from shuffled labels" if self.auc >= CHANCE else "hardly told from chance"
        )
        return (
            f"this encoder reads your classes {self.verdict}: true labels are {told} "
            f"(AUC {self.auc:.2f}, chance 0.50)"
        )

    @property
    def settings(self) -> dict[str, Any]:
        """Give all of it as plain values, for the scores file and the report."""
        return {
            "verdict": self.verdict,
            "sentence": self.sentence,
            "recall": self.recall,
            "auc": self.auc,
            "classes": [vars(row) for row in self.classes],
        }


def fitness(
    scores: Scores,
    labels: Labels,
    shuffled: Scores,
    wrong: Labels,
    classes: tuple[str, ...],
) -> Fitness:
    """Compare scores under the true labels with those of the same images under `wrong` ones."""
    right, chance = scores.rs - scores.s_neg, shuffled.rs - shuffled.s_neg
    rows = tuple(
        _of_class(name, labels == c, right, chance[wrong == c], scores, classes)
        for c, name in enumerate(classes)
    )
    if not len(right):
        return Fitness(rows, None, None)
    # A site of one class has no image that was shuffled into it: there all are compared at once.
    aucs = [row.auc for row in rows if row.auc is not None] or [auc(right, chance)]
    return Fitness(rows, round(float((right > 0).mean()), 4), round(float(np.mean(aucs)), 4))


def wrong_labels(keys: list[bytes], labels: Labels, n_classes: int) -> Labels:
    """Give every image another class, by its content alone, so that a second run gives the same."""
    drawn = np.array(
        [int.from_bytes(key[:8], "little") % (n_classes - 1) for key in keys], np.int64
    )
    return (labels + 1 + drawn) % n_classes if len(keys) else np.asarray(labels)


def auc(high: NDArray[np.floating[Any]], low: NDArray[np.floating[Any]]) -> float:
    """Give the chance that one of `high` is above one of `low`, ties counting half.

    >>> auc(np.array([2.0, 3.0]), np.array([1.0, 2.0]))
    0.875
    """
    ordered = np.sort(low)
    below = np.searchsorted(ordered, high, "left") + np.searchsorted(ordered, high, "right")
    return float(below.mean() / (2 * len(low)))


def _of_class(
    name: str,
    mine: NDArray[np.bool_],
    margins: NDArray[np.floating[Any]],
    chance: NDArray[np.floating[Any]],
    scores: Scores,
    classes: tuple[str, ...],
) -> ClassFitness:
    n = int(mine.sum())
    if not n:
        return ClassFitness(name, 0, None, None, None, None)
    margin = margins[mine]
    lost = scores.rival[mine][margin <= 0] if scores.rival is not None else np.zeros(0, np.int64)
    return ClassFitness(
        name,
        n,
        round(float((margin > 0).mean()), 4),
        round(float(margin.mean()), 4),
        round(auc(margin, chance), 4) if len(chance) else None,
        classes[int(np.bincount(lost).argmax())] if len(lost) else None,
    )
