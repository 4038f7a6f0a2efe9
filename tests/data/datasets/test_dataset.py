import numpy as np
import pytest
from PIL import Image

from scopefl.data.datasets import Dataset, load_dataset
from scopefl.errors import ScopeError


def rng(seed=0):
    return np.random.default_rng(seed)


def grey(n, **fields):
    images = rng().integers(0, 256, (n, 8, 8), np.uint8)
    return Dataset(images, np.arange(n) % 2, ("a", "b"), **fields)


def test_pixels_of_the_right_size_stay_as_they_are():
    dataset = grey(3)
    pixels = dataset.pixels(8, np.array([2, 0]))
    assert pixels.shape == (2, 8, 8, 3)
    for channel in range(3):
        np.testing.assert_array_equal(pixels[..., channel], dataset.images[[2, 0]])


def test_pixels_of_another_size_are_resized_from_arrays_and_from_files_alike(tmp_path):
    array = np.zeros((1, 20, 40, 3), np.uint8)
    array[:, :, 10:30] = 255
    Image.fromarray(array[0]).save(tmp_path / "wide.png")
    paths = Dataset((tmp_path / "wide.png",), np.array([0]), ("a", "b"))
    from_file = paths.pixels(10)
    np.testing.assert_array_equal(from_file, Dataset(array, np.array([0]), ("a", "b")).pixels(10))
    # The central square is the white part.
    assert from_file.shape == (1, 10, 10, 3)
    assert from_file[0, 5, 5].tolist() == [255, 255, 255]
    assert from_file[0, :, 1:-1].min() > 200


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "broken.png").write_bytes(b"no picture")
    dataset = Dataset((tmp_path / "broken.png",), np.array([0]), ("a", "b"))
    with pytest.raises(ScopeError, match=r"broken\.png must be a picture"):
        dataset.pixels(8)


def test_labels_outside_the_classes_are_refused():
    with pytest.raises(ScopeError, match=r"labels must be in 0\.\.1, got 2"):
        Dataset(np.zeros((1, 2, 2), np.uint8), np.array([2]), ("a", "b"))


def test_an_unknown_name_is_answered_with_those_there_are(tmp_path):
    with pytest.raises(ScopeError, match=r"one of cifar10, .* got 'mnist'"):
        load_dataset("mnist", tmp_path)
