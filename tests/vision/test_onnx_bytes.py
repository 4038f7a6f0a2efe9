import contextlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.errors import ScopeError
from scopefl.vision import onnx_bytes
from tests.vision import small

TOWER = small.tower()


def test_what_we_write_the_onnx_package_accepts():
    onnx = pytest.importorskip("onnx")
    model = onnx.load_model_from_string(TOWER)
    onnx.checker.check_model(model, full_check=True)
    kernel = next(item for item in model.graph.initializer if item.name == "kernel")
    assert onnx.numpy_helper.to_array(kernel).shape == (small.DIM, 3, 5, 5)
    onnx_bytes.refuse_foreign(TOWER, "tower")


def test_weights_in_another_file_are_refused():
    onnx = pytest.importorskip("onnx")
    model = onnx.load_model_from_string(TOWER)
    model.graph.initializer[0].data_location = onnx.TensorProto.EXTERNAL
    entry = model.graph.initializer[0].external_data.add()
    entry.key, entry.value = "location", "/etc/passwd"
    with pytest.raises(ScopeError, match="points to another file"):
        onnx_bytes.refuse_foreign(model.SerializeToString(), "tower")


def test_weights_in_another_file_are_found_inside_attributes_too():
    onnx = pytest.importorskip("onnx")
    hidden = onnx.TensorProto(name="x", dims=[1], data_type=1, data_location=1)
    node = onnx.helper.make_node("Constant", [], ["y"], value=hidden)
    graph = onnx.helper.make_graph([node], "g", [], [])
    with pytest.raises(ScopeError, match="points to another file"):
        onnx_bytes.refuse_foreign(onnx.helper.make_model(graph).SerializeToString(), "tower")


def test_foreign_operators_are_found_inside_branches():
    onnx = pytest.importorskip("onnx")
    evil = onnx.helper.make_node("Run", [], ["y"], domain="evil.ops")
    inner = onnx.helper.make_graph([evil], "inner", [], [])
    node = onnx.helper.make_node("If", ["c"], ["y"], then_branch=inner, else_branch=inner)
    graph = onnx.helper.make_graph([node], "g", [], [])
    with pytest.raises(ScopeError, match=r"evil\.ops"):
        onnx_bytes.refuse_foreign(onnx.helper.make_model(graph).SerializeToString(), "tower")


@given(st.binary(max_size=200))
def test_any_bytes_are_judged_without_another_error(raw):
    with contextlib.suppress(ScopeError):
        onnx_bytes.refuse_foreign(raw, "tower")


@pytest.mark.parametrize("cut", range(1, len(TOWER), 997))
def test_a_cut_model_is_no_model(cut):
    with pytest.raises(ScopeError):
        onnx_bytes.refuse_foreign(TOWER[:cut], "tower")


def test_tensors_keep_their_bytes():
    onnx = pytest.importorskip("onnx")
    values = np.arange(6, dtype=np.int64).reshape(2, 3)
    found = onnx.TensorProto.FromString(onnx_bytes.tensor("x", values))
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(found), values)
