import pytest

from scopefl.vision.offline import wordpiece

VOCABULARY = wordpiece.read_vocabulary()


def test_the_vocabulary_is_bert_s():
    assert len(VOCABULARY) == 30_522
    assert [VOCABULARY[piece] for piece in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "the")] == [
        0,
        100,
        101,
        102,
        1996,
    ]


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("a photo of a cat.", [101, 1037, 6302, 1997, 1037, 4937, 1012, 102]),
        ("Widmanstätten", None),
        ("", [101, 102]),
        ("\u0000\u200b", [101, 102]),
    ],
)
def test_known_sentences_give_known_numbers(text, numbers):
    found = wordpiece.tokens(text, VOCABULARY)
    assert (
        found == numbers
        if numbers
        else found[1:-1] == wordpiece.tokens(text.lower().replace("ä", "a"), VOCABULARY)[1:-1]
    )


def test_long_text_ends_with_its_separator_at_128():
    found = wordpiece.tokens("cat " * 500, VOCABULARY)
    assert len(found) == wordpiece.MAX_TOKENS
    assert found[-1] == 102


def test_words_nobody_knows_become_one_unknown_piece():
    assert wordpiece.pieces("x" * 101, VOCABULARY) == ["[UNK]"]
    assert wordpiece.pieces("☃", {"a": 0}) == ["[UNK]"]


def test_cjk_signs_and_punctuation_stand_alone():
    assert list(wordpiece.words("鋼steel(β-Fe)$1")) == [
        "鋼", "steel", "(", "β", "-", "fe", ")", "$", "1",
    ]  # fmt: skip
