"""The conformance suite finds every way a source can break its rules."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from scopefl.data.source import Item
from scopefl.testing import check_source


class Made:
    """A source made of given items."""

    name = "made"
    classes: Any = None

    def __init__(self, *items: Any, length: int | None = None, classes: Any = None) -> None:
        self.items = items
        self.length = len(items) if length is None else length
        self.classes = classes

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Any]:
        return iter(self.items)


class Shuffled(Made):
    """A source that gives another order in every loop."""

    def __iter__(self) -> Iterator[Any]:
        self.items = self.items[::-1]
        return iter(self.items)


def item(name: Any = "a", path: Any = "a", label: Any = None, raw: Any = b"x") -> Item:
    return Item(name, path, label, lambda: raw)


def random_item() -> Item:
    return Item("a", "a", None, lambda: np.random.default_rng().random((9, 9)))


def failing_item() -> Item:
    def read() -> bytes:
        raise RuntimeError("no")

    return Item("a", "a", None, read)


def test_a_good_source_passes_even_with_an_item_that_fails() -> None:
    assert check_source(Made(failing_item(), item("b", label="x"), classes=("x",))) == 2
    assert check_source(Made()) == 0
    assert check_source(Made(item("a"), item("b")), sample=1) == 1


@pytest.mark.parametrize(
    ("source", "fault"),
    [
        ([1, 2], "it has no name"),
        (Made(item(), length=2), "its length is 2, but it gives 1"),
        (Made(item(), item()), "two of its items have one id"),
        (Made(item(""), item("b")), "an id is not text, or empty"),
        (Made(item("\udce9")), "an id is not text"),
        (Made(item(path=None)), "a path is not text"),
        (Made(item(label=3)), "a label is neither None nor text"),
        (Made(item(label="y"), classes=("x",)), "'y' is not among its classes"),
        (Made(item(), classes=["x"]), "neither None nor a tuple"),
        (Made(item(), classes=("x", "x")), "two of its classes have one name"),
        (Made(random_item()), "changes? images at random"),
        (Made(item(raw="a path")), "read() gives a str"),
        (Made(item("a"), 7), "it gives a int, not an Item"),
        (Shuffled(item("a"), item("b")), "another order"),
    ],
)
def test_a_broken_rule_is_named(source: Any, fault: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_source(source)
    assert fault.replace("changes? ", "change ") in str(caught.value)
