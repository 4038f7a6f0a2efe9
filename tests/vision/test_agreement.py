import numpy as np
import pytest

from scopefl.data.opening import open_source
from scopefl.data.rules import DecodingRules
from scopefl.errors import ScopeError
from scopefl.vision import canaries
from scopefl.vision.agreement import compare_runtimes, jaccard, pictures
from tests.vision import small

KIT = small.kit()


def test_a_runtime_agrees_with_itself():
    found = compare_runtimes(KIT, "onnxruntime", canaries.images() * 3)
    assert (found.images, found.kept, found.anomalous) == (48, 1.0, 1.0)
    assert found.largest_difference == 0


def test_lower_precision_shows_as_a_difference():
    pytest.importorskip("openvino")
    found = compare_runtimes(KIT, "openvino-bf16", canaries.images(), np.arange(16) % 3)
    assert 0 <= found.kept <= 1
    assert found.largest_difference < 0.05


def test_nothing_to_compare_is_an_error():
    with pytest.raises(ScopeError, match="at least one readable image"):
        compare_runtimes(KIT, "onnxruntime", [])


def test_jaccard_counts_what_both_hold():
    one, other = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)
    assert jaccard(one, other) == pytest.approx(1 / 3)
    assert jaccard(one, one) == 1
    assert jaccard(~one & one, ~one & one) == 1


def test_pictures_are_read_by_the_rules_and_what_is_unreadable_is_left_out(tmp_path):
    from PIL import Image

    small.folder(tmp_path, 2)
    (tmp_path / "cat" / "page.jpg").write_bytes(b"<html>")
    deep = np.full((40, 40), 700, np.uint16)
    Image.fromarray(deep).save(tmp_path / "dog" / "deep.png")
    images, labels = pictures(KIT, open_source(tmp_path), DecodingRules())
    assert labels is not None
    assert labels.tolist() == [0, 0, 1, 1, 2, 2]
    assert {image.shape for image in images} == {(small.SIZE, small.SIZE, 3)}
    windowed, _ = pictures(KIT, open_source(tmp_path), DecodingRules(window=(0.0, 1400.0)))
    assert len(windowed) == 7
    assert (windowed[4] == 128).all()


def test_labels_that_are_no_classes_give_none(tmp_path):
    small.folder(tmp_path / "animals", 1)
    images, labels = pictures(KIT, open_source(tmp_path), DecodingRules())
    assert (len(images), labels) == (3, None)
