"""BERT's uncased word pieces: text to token numbers, as the text model learned them."""

import gzip
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources

VOCABULARY = "vocab.txt.gz"
MAX_TOKENS = 128
MAX_WORD = 100


def packaged(name: str) -> bytes:
    """Give a data file that lies beside this one."""
    return resources.files("scopefl.vision.offline").joinpath(name).read_bytes()


def read_vocabulary() -> dict[str, int]:
    """Give the vocabulary that ships with the package: a piece a line, its number the line's."""
    pieces = gzip.decompress(packaged(VOCABULARY)).decode("utf-8").split("\n")
    return {piece: number for number, piece in enumerate(pieces) if piece}


def words(text: str) -> Iterator[str]:
    """Split text as BERT does: lower case, no accents, punctuation and CJK signs alone.

    >>> list(words("A close-up of Élan."))
    ['a', 'close', '-', 'up', 'of', 'elan', '.']
    """
    word = ""
    for sign in unicodedata.normalize("NFD", text.lower()):
        kind = unicodedata.category(sign)
        if kind == "Mn" or (kind in ("Cc", "Cf") and not sign.isspace()):
            continue
        alone = _is_punctuation(sign, kind) or _is_cjk(sign)
        if not (alone or sign.isspace()):
            word += sign
            continue
        if word:
            yield word
        word = ""
        if alone:
            yield sign
    if word:
        yield word


def pieces(word: str, vocabulary: Mapping[str, int]) -> list[str]:
    """Split a word into the longest known pieces, left to right, or give [UNK].

    >>> pieces("unaffable", {"un": 0, "##aff": 1, "##able": 2})
    ['un', '##aff', '##able']
    """
    found: list[str] = []
    start = 0
    while start < len(word) <= MAX_WORD:
        prefix = "##" if start else ""
        ends = range(len(word), start, -1)
        end = next((end for end in ends if prefix + word[start:end] in vocabulary), None)
        if end is None:
            return ["[UNK]"]
        found.append(prefix + word[start:end])
        start = end
    return found or ["[UNK]"]


def tokens(text: str, vocabulary: Mapping[str, int]) -> Sequence[int]:
    """Give the token numbers of a text between [CLS] and [SEP], at most 128."""
    inner = [piece for word in words(text) for piece in pieces(word, vocabulary)]
    return [vocabulary[piece] for piece in ("[CLS]", *inner[: MAX_TOKENS - 2], "[SEP]")]


def _is_punctuation(sign: str, kind: str) -> bool:
    return kind.startswith("P") or sign in "$+<=>^`|~"


def _is_cjk(sign: str) -> bool:
    code = ord(sign)
    return 0x4E00 <= code <= 0x9FFF or 0x3400 <= code <= 0x4DBF or 0xF900 <= code <= 0xFAFF
