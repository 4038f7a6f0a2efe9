import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.vision import runtimes
from tests.vision import small

KIT = small.kit()


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path))


@pytest.mark.parametrize("runtime", runtimes.available())
def test_every_installed_runtime_passes_the_canaries(runtime):
    assert KIT.check(runtime, threads=1).passed


@pytest.mark.parametrize("runtime", runtimes.available())
def test_the_number_of_threads_changes_no_bit(runtime):
    batch = np.random.default_rng(0).integers(0, 256, (3, small.SIZE, small.SIZE, 3), np.uint8)
    one, two = (KIT.encoder(runtime, threads).embed(batch) for threads in (1, 2))
    np.testing.assert_array_equal(one, two)


def test_a_runtime_may_take_several_images_always_as_many(monkeypatch):
    batch = np.random.default_rng(0).integers(0, 256, (7, small.SIZE, small.SIZE, 3), np.uint8)
    alone = KIT.encoder("onnxruntime").embed(batch)
    monkeypatch.setitem(runtimes.AT_ONCE, "onnxruntime", 3)
    together = KIT.encoder("onnxruntime")
    assert together.rows == 3
    np.testing.assert_allclose(together.embed(batch), alone, atol=1e-6)
    np.testing.assert_array_equal(together.embed(batch[:1]), together.embed(batch)[:1])


def test_auto_is_float32():
    assert runtimes.precision(runtimes.chosen("auto")) == "f32"


def test_an_unknown_runtime_lists_the_known_ones():
    with pytest.raises(ScopeError, match="one of onnxruntime, "):
        runtimes.chosen("tpu")


def test_a_runtime_that_is_not_installed_says_what_to_install(monkeypatch):
    monkeypatch.setattr(runtimes.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(ScopeError, match=r"scopefl\[openvino\]"):
        runtimes.chosen("openvino")
    with pytest.raises(ScopeError, match=r"scopefl\[int8\]"):
        runtimes.chosen("openvino-int8")


@pytest.mark.parametrize("runtime", runtimes.available())
@pytest.mark.parametrize("model", [b"no model", small.tower(size=16)])
def test_a_tower_that_does_not_fit_is_one_sentence(runtime, model):
    tower = runtimes.started_when_needed(runtime, model, 1)
    with pytest.raises(ScopeError, match="cannot run this kit's tower|cannot be made int8"):
        tower(np.zeros((1, small.SIZE, small.SIZE, 3), np.uint8))


def test_a_tower_starts_with_its_first_image_and_only_once():
    broken = runtimes.started_when_needed("onnxruntime", b"no model", 1)
    image = np.zeros((1, small.SIZE, small.SIZE, 3), np.uint8)
    with pytest.raises(ScopeError, match="cannot run this kit's tower"):
        broken(image)
    tower = runtimes.started_when_needed("onnxruntime", small.tower(), 1)
    np.testing.assert_array_equal(tower(image), tower(image))
