import numpy as np
import pytest
from PIL import Image

from scopefl.data.datasets import Dataset, from_source, load_dataset, split
from scopefl.data.folder import FolderSource
from scopefl.data.rules import DecodingRules
from scopefl.errors import ScopeError


def rng(seed=0):
    return np.random.default_rng(seed)


def grey(n, **fields):
    images = rng().integers(0, 256, (n, 8, 8), np.uint8)
    return Dataset(images, np.arange(n) % 2, ("a", "b"), **fields)


def test_the_official_split_is_kept():
    dataset = grey(4, test=np.array([False, True, False, True]))
    train, test = split(dataset, 0.5, rng())
    assert train.tolist() == [0, 2]
    assert test.tolist() == [1, 3]


def test_without_one_the_same_share_of_every_class_is_held_out():
    dataset = grey(40)
    train, test = split(dataset, 0.2, rng())
    assert np.bincount(dataset.labels[test]).tolist() == [4, 4]
    assert sorted([*train, *test]) == list(range(40))
    np.testing.assert_array_equal(test, split(dataset, 0.2, rng()).test)
    with pytest.raises(ScopeError, match="share held out must be above 0"):
        split(dataset, 1.0, rng())


def test_groups_are_held_out_whole():
    groups = np.repeat(["x", "y", "z"], 4)
    test = split(grey(12, groups=groups), 0.3, rng()).test
    assert len(set(groups[test])) == 1
    assert len(test) == 4


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


def test_any_source_gives_its_labelled_items_as_pixels(tmp_path):
    for name in ("b/1.png", "a/2.png", "no label.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(np.full((9, 12), 50, np.uint16) * 1000).save(tmp_path / name)
    dataset = from_source(FolderSource(tmp_path), 8, DecodingRules(window=(0, 65535)))
    assert dataset.classes == ("a", "b")
    assert dataset.labels.tolist() == [0, 1]
    assert dataset.images.shape == (2, 8, 8, 3)
    assert abs(dataset.images.astype(float) - 50_000 / 257).max() <= 1
    with pytest.raises(ScopeError, match=r"a/2\.png must be a picture"):
        from_source(FolderSource(tmp_path), 8)


def test_a_source_without_labels_is_refused(tmp_path):
    Image.new("L", (9, 9)).save(tmp_path / "1.png")
    with pytest.raises(ScopeError, match="none of its 1 items has one"):
        from_source(FolderSource(tmp_path), 8)


def test_labels_outside_the_classes_are_refused():
    with pytest.raises(ScopeError, match=r"labels must be in 0\.\.1, got 2"):
        Dataset(np.zeros((1, 2, 2), np.uint8), np.array([2]), ("a", "b"))


def test_an_unknown_name_is_answered_with_those_there_are(tmp_path):
    with pytest.raises(ScopeError, match=r"one of cifar10, .* got 'mnist'"):
        load_dataset("mnist", tmp_path)
