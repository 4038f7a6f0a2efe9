"""Eight bits: quantised once a machine, alike at every site, and refused in one sentence."""

import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.vision import canaries, int8, runtimes
from tests.vision import small

pytest.importorskip("onnx")
pytest.importorskip("openvino")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path))
    return tmp_path


def test_a_tower_is_quantised_once_and_then_read(cache, monkeypatch):
    first = int8.int8_model(small.tower(), runtimes.INPUT)
    assert len(list(cache.rglob("int8/*"))) == 1
    monkeypatch.setattr(int8, "quantised", None)
    assert int8.int8_model(small.tower(), runtimes.INPUT) == first


def test_two_sites_make_the_same_tower():
    made = [int8.quantised(small.tower(), runtimes.INPUT) for _ in range(2)]
    assert made[0] == made[1]
    assert made[0] != int8.quantised(small.tower(seed=1), runtimes.INPUT)


def test_the_weights_are_bytes_and_the_rows_near_those_of_float32():
    import onnx

    model = onnx.load_from_string(int8.quantised(small.tower(), runtimes.INPUT))
    kinds = {one.name: one.data_type for one in model.graph.initializer}
    assert kinds["kernel_quantized"] == onnx.TensorProto.INT8
    kit = small.kit()
    rows = canaries.embeddings(kit.encoder("openvino-int8", 1))
    assert 1e-4 < np.abs(rows - kit.canary_rows).max() < 0.05


def test_what_cannot_be_quantised_is_one_sentence():
    with pytest.raises(ScopeError, match="cannot be made int8 .* choose another runtime"):
        int8.quantised(b"no model", runtimes.INPUT)
