"""File names become text and back without loss."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.data.names import check_distinct, escape, unescape
from scopefl.errors import ScopeError


@given(st.binary())
def test_any_bytes_survive_the_way_to_text_and_back(raw: bytes) -> None:
    text = escape(raw)
    assert unescape(text) == raw
    assert text.encode().decode() == text
    assert text.isprintable() or not any(ord(letter) < 32 for letter in text)


@given(st.text(alphabet=st.characters(exclude_categories=["C"], exclude_characters="\\")))
def test_ordinary_names_stay_as_they_are(name: str) -> None:
    assert escape(name.encode()) == name


def test_two_items_of_one_name_are_refused() -> None:
    with pytest.raises(ScopeError, match="'a' is twice in here"):
        check_distinct(["a", "b", "a"], "here")
