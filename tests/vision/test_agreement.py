import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.vision import canaries
from scopefl.vision.agreement import compare_runtimes, jaccard
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
    with pytest.raises(ScopeError, match="at least one image"):
        compare_runtimes(KIT, "onnxruntime", [])


def test_jaccard_counts_what_both_hold():
    one, other = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)
    assert jaccard(one, other) == pytest.approx(1 / 3)
    assert jaccard(one, one) == 1
    assert jaccard(~one & one, ~one & one) == 1
