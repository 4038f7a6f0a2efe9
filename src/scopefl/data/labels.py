"""Class names, and labels as numbers into them."""

from collections import Counter
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.data.names import shown
from scopefl.errors import ScopeError

SHOWN = 5
"""Unknown labels an error lists before it only counts."""


def read_classes(path: Path) -> tuple[str, ...]:
    """Return the class names of a text file, one a line; blank lines are skipped."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ScopeError(f"{shown(path)} must be a readable UTF-8 text file: {error}") from None
    return check_classes(line.strip() for line in text.splitlines() if line.strip())


def check_classes(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names if they can be class names: at least two, all different."""
    classes = tuple(names)
    twice = [name for name, count in Counter(classes).items() if count > 1]
    if twice:
        raise ScopeError(f"class names must be distinct, but {twice[0]!r} is listed twice")
    if len(classes) < 2:
        raise ScopeError(f"there must be at least two classes, got {len(classes)}")
    return classes


def class_numbers(labels: Sequence[str | None], classes: Sequence[str]) -> NDArray[np.int32]:
    """Return each label's position among the classes; unknown labels are an error that names them.

    >>> class_numbers(["cat", "dog", "cat"], ["cat", "dog"]).tolist()
    [0, 1, 0]
    """
    number = {name: position for position, name in enumerate(classes)}
    unknown = Counter(label for label in labels if label not in number)
    if unknown:
        raise ScopeError(_unknown_sentence(unknown, classes))
    known = (number[label] for label in labels if label is not None)
    return np.fromiter(known, dtype=np.int32, count=len(labels))


def _unknown_sentence(unknown: Counter[str | None], classes: Sequence[str]) -> str:
    parts = [_unknown_part(label, count, classes) for label, count in unknown.most_common(SHOWN)]
    more = f" and {len(unknown) - SHOWN} more" if len(unknown) > SHOWN else ""
    numbers = all(label is not None and label.isdigit() for label in unknown)
    hint = "; if they count the classes from 0, add --numbered" if numbers else ""
    return f"labels must be among the {len(classes)} classes, got {', '.join(parts)}{more}{hint}"


def _unknown_part(label: str | None, count: int, classes: Sequence[str]) -> str:
    if label is None:
        return f"no label ({count} times)"
    near = nearest(label, classes)
    meant = f", near {' or '.join(map(repr, near))}" if near else ""
    return f"{label!r} ({count} times{meant})"


def nearest(label: str, classes: Sequence[str]) -> list[str]:
    """Give the one or two classes that an unknown label may have meant."""
    return get_close_matches(label, classes, n=2, cutoff=0.5)
