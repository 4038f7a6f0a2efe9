"""Labels become class numbers, or an error that names the nearest classes."""

from pathlib import Path

import pytest

from scopefl.data.labels import check_classes, class_numbers, read_classes
from scopefl.errors import ScopeError

CLASSES = ("ferrite", "pearlite", "spheroidite")


def test_labels_are_numbered_in_the_order_of_the_classes() -> None:
    assert class_numbers(["spheroidite", "ferrite"], CLASSES).tolist() == [2, 0]
    assert class_numbers([], CLASSES).tolist() == []


def test_unknown_labels_are_counted_and_the_nearest_named() -> None:
    labels = ["perlite", "perlite", "ferrite", None, "xyz"]
    with pytest.raises(ScopeError) as caught:
        class_numbers(labels, CLASSES)
    assert str(caught.value) == (
        "labels must be among the 3 classes, got 'perlite' (2 times, near 'pearlite' or "
        "'ferrite'), no label (1 times), 'xyz' (1 times)"
    )


def test_many_unknown_labels_are_only_counted() -> None:
    with pytest.raises(ScopeError, match="and 3 more"):
        class_numbers([f"q{number}" for number in range(8)], CLASSES)


def test_class_files_hold_one_name_a_line(tmp_path: Path) -> None:
    (tmp_path / "names.txt").write_bytes("\ufeffferrite\r\n\r\n pearlite \n".encode())
    assert read_classes(tmp_path / "names.txt") == ("ferrite", "pearlite")


@pytest.mark.parametrize(
    ("names", "complaint"), [(["a"], "at least two"), (["a", "b", "a"], "'a' is listed twice")]
)
def test_names_that_cannot_be_classes_are_refused(names: list[str], complaint: str) -> None:
    with pytest.raises(ScopeError, match=complaint):
        check_classes(names)


def test_a_class_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.txt").write_bytes(b"\xe9")
    for name in ("latin.txt", "gone.txt"):
        with pytest.raises(ScopeError, match=name):
            read_classes(tmp_path / name)
