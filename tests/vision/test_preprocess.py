import numpy as np
import pytest
from PIL import Image

from scopefl.vision import canaries
from scopefl.vision.preprocess import Preprocessing

NEUTRAL = ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))


def test_the_short_side_is_scaled_and_the_centre_cut():
    pixels = np.zeros((10, 40, 3), np.uint8)
    pixels[:, 15:25] = 255
    found = Preprocessing(10, "shortest", "bicubic", *NEUTRAL).prepare(pixels)
    np.testing.assert_array_equal(found, np.full((10, 10, 3), 255))


def test_squash_keeps_the_whole_image():
    pixels = np.zeros((10, 40, 3), np.uint8)
    pixels[:, 20:] = 255
    found = Preprocessing(10, "squash", "bilinear", *NEUTRAL).prepare(pixels)
    assert found[:, :4].max() == 0
    assert found[:, 6:].min() == 255


def test_an_image_of_the_right_size_is_not_touched():
    pixels = np.random.default_rng(0).integers(0, 256, (32, 32, 3), np.uint8)
    found = Preprocessing(32, "shortest", "bicubic", *NEUTRAL).prepare(pixels)
    np.testing.assert_array_equal(found, pixels)


@pytest.mark.parametrize("shape", [(1, 1), (1, 500), (500, 1), (33, 32), (7, 1000)])
@pytest.mark.parametrize("resize", ["shortest", "squash"])
def test_every_shape_ends_at_the_tower_s_size(shape, resize):
    rule = Preprocessing(32, resize, "bicubic", *NEUTRAL)
    assert rule.prepare(np.zeros((*shape, 3), np.uint8)).shape == (32, 32, 3)


@pytest.mark.parametrize("resize", ["shortest", "squash"])
@pytest.mark.parametrize("interpolation", ["bicubic", "bilinear"])
def test_the_pixels_are_those_of_open_clip_s_own_transform(resize, interpolation):
    from scopefl.torchvision_import import import_over_torchvision

    pytest.importorskip("torch")
    transform = import_over_torchvision("open_clip").image_transform(
        64, False, *NEUTRAL, resize_mode=resize, interpolation=interpolation
    )
    rule = Preprocessing(64, resize, interpolation, *NEUTRAL)
    for image in canaries.images():
        wanted = transform(Image.fromarray(image)).numpy().transpose(1, 2, 0) * 255
        np.testing.assert_array_equal(rule.prepare(image), np.rint(wanted).astype(np.uint8))
