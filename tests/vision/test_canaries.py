import dataclasses
import hashlib

import numpy as np
import pytest
from PIL import Image

from scopefl.vision import canaries, runtimes
from scopefl.vision.encoder import TowerEncoder
from tests.vision import small

KIT = small.kit()


def encoder(model=None, rule=small.RULE):
    return TowerEncoder(rule, runtimes.onnxruntime_tower(model or small.tower(), 1), small.DIM)


def check(encoder, kit=KIT):
    return canaries.check(kit, encoder, runtimes.TOLERANCE["f32"])


def test_the_images_never_change():
    drawn = canaries.images()
    whole = hashlib.sha256()
    for image in drawn:
        assert image.dtype == np.uint8
        whole.update(repr(image.shape).encode() + image.tobytes())
    assert len(drawn) == canaries.COUNT
    assert whole.hexdigest()[:16] == "7521ff16d76fddb2"


def test_the_kit_passes_on_the_machine_that_made_it():
    found = KIT.check("onnxruntime", threads=1)
    assert found.passed
    assert str(found).startswith("pass: 16 canaries agree")


class Swapped(TowerEncoder):
    def prepare(self, pixels):
        return super().prepare(np.ascontiguousarray(pixels[..., ::-1]))


class Coarse(TowerEncoder):
    def prepare(self, pixels):
        """Resize by the nearest pixel, as a library without antialiasing would."""
        small_one = Image.fromarray(pixels).resize((small.SIZE,) * 2, Image.Resampling.NEAREST)
        return np.asarray(small_one)


def other(kind):
    same = encoder()
    return kind(same.preprocessing, same.tower, same.dim)


FAULTS = {
    "BGR for RGB": other(Swapped),
    "no antialiasing": other(Coarse),
    "bilinear for bicubic": encoder(rule=dataclasses.replace(small.RULE, interpolation="bilinear")),
    "squashed for cropped": encoder(rule=dataclasses.replace(small.RULE, resize="squash")),
    "another mean": encoder(small.tower(mean=(0.485, 0.456, 0.406))),
    "another std": encoder(small.tower(std=(1.0, 1.0, 1.0))),
    "another resolution": encoder(small.tower(size=48), dataclasses.replace(small.RULE, size=48)),
    "another backbone": encoder(small.tower(seed=9)),
    "half precision weights": encoder(small.tower(half=True)),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_of_the_tower_or_its_input_is_caught(fault):
    found = check(FAULTS[fault])
    assert not found.passed
    assert "the image tower or its preprocessing" in str(found) or fault.startswith("half")


@pytest.mark.parametrize(
    "rows",
    [
        small.prototypes()[[1, 0, 2]],
        small.prototypes(seed=8),
    ],
    ids=["class order", "prompt typo or another tokenizer"],
)
def test_other_prototypes_are_caught_and_named(rows):
    found = check(encoder(), dataclasses.replace(KIT, prototypes=rows))
    assert not found.passed
    assert "the prototypes or the class order" in str(found)


def test_the_worst_canary_is_named():
    rows = KIT.canary_rows.copy()
    rows[11] = -rows[11]
    found = check(encoder(), dataclasses.replace(KIT, canary_rows=rows))
    assert found.worst == 11


def test_canaries_are_scored_as_members_of_the_classes_in_turn():
    rows = np.eye(4, dtype=np.float32)
    prototypes = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0.6, 0, 0.8, 0]], np.float32)
    found = canaries.CanaryScores.of(rows, prototypes)
    np.testing.assert_allclose(found.rs, [1, 1, 0.8, 0], atol=1e-7)
    np.testing.assert_allclose(found.s_neg, [0.6, 0, 0, 0], atol=1e-7)
