"""Learning curves as a small CSV file: who learnt from how many images, and how well, by round."""

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scopefl.data.files import read_bytes, write_bytes
from scopefl.errors import ScopeError
from scopefl.train.history import LAST, History

COLUMNS = ("trained on", "images", "round", "accuracy")
LARGEST = 16 << 20


@dataclass(frozen=True)
class Curve:
    """One training: its name, how many images it had, and the accuracy after some rounds."""

    name: str
    images: int
    rounds: tuple[int, ...]
    accuracy: tuple[float, ...]

    @classmethod
    def of(cls, name: str, images: int, history: History) -> "Curve":
        """Read the curve off a history."""
        rounds = tuple(each.number for each in history.evaluated)
        return cls(name, images, rounds, tuple(history.accuracy.tolist()))

    @property
    def final(self) -> float:
        """Give the mean accuracy of the last ten rounds that were evaluated.

        >>> Curve("a", 3, (1, 2), (0.25, 0.75)).final
        0.5
        """
        last = self.accuracy[-LAST:]
        return sum(last) / len(last)


def write_curves(curves: Sequence[Curve], path: Path) -> None:
    """Write curves, a line for every evaluated round."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for curve in curves:
        for number, accuracy in zip(curve.rounds, curve.accuracy, strict=True):
            writer.writerow((curve.name, curve.images, number, f"{accuracy:.6g}"))
    write_bytes(path, text.getvalue().encode())


def read_curves(path: Path) -> list[Curve]:
    """Read curves, in the order of their first lines."""
    text = read_bytes(path, LARGEST).decode("utf-8-sig", "replace")
    rows = csv.DictReader(io.StringIO(text))
    if tuple(rows.fieldnames or ()) != COLUMNS:
        raise ScopeError(f"{path} must begin with the line {','.join(COLUMNS)}")
    points: dict[tuple[str, int], list[tuple[int, float]]] = {}
    for row in rows:
        name, images, number, accuracy = _values(row, f"{path}, line {rows.line_num}")
        points.setdefault((name, images), []).append((number, accuracy))
    return [
        Curve(name, images, *(tuple(column) for column in zip(*sorted(found), strict=True)))
        for (name, images), found in points.items()
    ]


def _values(row: dict[str, str], place: str) -> tuple[str, int, int, float]:
    try:
        name, *numbers = (row[column] for column in COLUMNS)
        images, number, accuracy = int(numbers[0]), int(numbers[1]), float(numbers[2])
    except (TypeError, ValueError):
        raise ScopeError(
            f"{place} must hold a name, two whole numbers and an accuracy, got {list(row.values())}"
        ) from None
    if not (0 <= accuracy <= 1 and images >= 0):
        raise ScopeError(f"{place} must hold an accuracy from 0 to 1, got {row['accuracy']}")
    return name, images, number, accuracy
