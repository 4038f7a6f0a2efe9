import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.vision.prompts import (
    TEMPLATES,
    check_classes,
    check_templates,
    sentences,
    text_prototypes,
)


def test_the_five_sentences_are_the_paper_s():
    assert sentences("grain boundary") == [
        "a photo of a grain boundary.",
        "a clear image of a grain boundary.",
        "a close-up of a grain boundary.",
        "a representation of the grain boundary.",
        "a good photo of the grain boundary.",
    ]


def test_a_prototype_is_averaged_raw_and_normalised_after():
    rows = {"a photo of a x.": [3.0, 0.0], "the x": [0.0, 1.0], "a photo of a y.": [0.0, 2.0]}
    templates = ["a photo of a {class_name}.", "the {class_name}"]
    found = text_prototypes(
        lambda texts: np.array([rows.get(text, [0.0, 4.0]) for text in texts], np.float32),
        ["x", "y"],
        templates,
    )
    np.testing.assert_allclose(found, [[3 / 10**0.5, 1 / 10**0.5], [0, 1]], atol=1e-7)
    assert found.dtype == np.float32


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_class_without_direction_is_an_error(value):
    with pytest.raises(ScopeError, match="no finite direction"):
        text_prototypes(lambda texts: np.full((len(texts), 2), value, np.float32), ["a", "b"])


@pytest.mark.parametrize(
    ("names", "told"),
    [
        ([], "at least 2"),
        (["a"], "at least 2"),
        (["a", " "], "one is empty"),
        (["é", "e\u0301"], "twice"),
        (["a", "b\x1b[2J"], r"no control characters, got 'b\\x1b"),
    ],
)
def test_class_lists_that_cannot_be_scored_are_refused(names, told):
    with pytest.raises(ScopeError, match=told):
        check_classes(names)


def test_class_names_keep_their_order_and_lose_spaces():
    assert check_classes([" b", "a "]) == ("b", "a")


@pytest.mark.parametrize(
    "templates", [[], ["a photo"], ["{class_name} {class_name}"], ["\x07{class_name}"]]
)
def test_a_template_holds_the_class_once(templates):
    with pytest.raises(ScopeError):
        check_templates(templates)


def test_the_default_templates_are_in_order():
    assert check_templates(TEMPLATES) == TEMPLATES
