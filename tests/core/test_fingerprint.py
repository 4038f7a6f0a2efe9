import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.core.fingerprint import canonical_json, digest, fingerprint, nfc

NAMES = st.lists(st.text(max_size=8), min_size=1, max_size=5, unique=True)
PARTS = st.dictionaries(st.text(max_size=5), st.text(max_size=5), max_size=4)


def test_the_bytes_are_sha256_over_canonical_json():
    classes = hashlib.sha256(b'["cat","dog"]').digest()[:3]
    whole = hashlib.sha256(b'{"classes":["cat","dog"],"parts":{"w":"1"}}').digest()[:5]
    assert fingerprint(["cat", "dog"], {"w": "1"}) == classes + whole


def test_canonical_json_refuses_what_json_cannot_say():
    with pytest.raises(ValueError):
        canonical_json({"x": float("nan")})


def test_digest_ignores_the_order_of_keys():
    assert digest({"a": 1, "b": 2}) == digest({"b": 2, "a": 1})


@given(NAMES, PARTS)
def test_the_order_of_parts_does_not_matter(classes, parts):
    assert fingerprint(classes, parts) == fingerprint(classes, dict(reversed(parts.items())))


@given(NAMES, PARTS, PARTS)
def test_other_parts_keep_the_class_bytes_and_change_the_rest(classes, one, other):
    first, second = fingerprint(classes, one), fingerprint(classes, other)
    assert first[:3] == second[:3]
    assert (first == second) == (one == other)


@given(st.lists(st.text(max_size=4), min_size=2, max_size=4, unique_by=lambda name: nfc([name])))
def test_class_order_changes_both_halves(classes):
    first, second = fingerprint(classes, {}), fingerprint(classes[::-1], {})
    assert first[:3] != second[:3]
    assert first[3:] != second[3:]


def test_an_accent_is_the_same_however_it_was_typed():
    assert fingerprint(["é"], {}) == fingerprint(["e\u0301"], {})
