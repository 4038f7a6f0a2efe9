"""Eight bytes that name what decided a score: the class list, and all that turns pixels into it."""

import hashlib
import json
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any

LENGTH = 8
CLASS_BYTES = 3
"""How many leading bytes depend on the class list alone."""


def canonical_json(value: Any) -> bytes:
    """Give the one UTF-8 spelling of a JSON value: sorted keys, no spaces, no NaN.

    >>> canonical_json({"b": 1, "a": ["é"]}).decode()
    '{"a":["é"],"b":1}'
    """
    text = json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )
    return text.encode()


def digest(value: Any) -> str:
    """Give the SHA-256 of a JSON value's canonical spelling, in hex."""
    return hashlib.sha256(canonical_json(value)).hexdigest()


def nfc(names: Sequence[str]) -> tuple[str, ...]:
    """Give the names in Unicode normal form C: an accent typed otherwise is no difference."""
    return tuple(unicodedata.normalize("NFC", name) for name in names)


def fingerprint(classes: Sequence[str], parts: Mapping[str, str]) -> bytes:
    """Give 8 bytes: 3 of the ordered class list alone, 5 of the classes and every part.

    Two fingerprints that share their first 3 bytes have the same classes and differ in the encoder.

    >>> fingerprint(["cat", "dog"], {"weights": "ab"}).hex()
    '07bdda89815d240e'
    >>> fingerprint(["dog", "cat"], {"weights": "ab"})[:3] == bytes.fromhex("07bdda")
    False
    """
    names = list(nfc(classes))
    whole = {"classes": names, "parts": dict(parts)}
    return bytes.fromhex(
        digest(names)[: 2 * CLASS_BYTES] + digest(whole)[: 2 * (LENGTH - CLASS_BYTES)]
    )
