import hashlib
import json
import tarfile

import numpy as np
import pytest
from PIL import Image

from scopefl.data.datasets import load_dataset
from scopefl.data.datasets.cifar import CIFAR10, CIFAR100, read_cifar
from scopefl.errors import ScopeError

NAMES = {CIFAR10: [f"class{i}" for i in range(10)], CIFAR100: [f"fine{i}" for i in range(100)]}


def write_binary(folder, edition):
    """Write two records a file in the official layout; give pixels and labels in reading order."""
    rng = np.random.default_rng(0)
    (folder / edition.folder).mkdir(parents=True)
    images, labels = [], []
    for name in (*edition.train, *edition.test):
        pixels = rng.integers(0, 256, (2, 32, 32, 3), np.uint8)
        label = rng.integers(0, 10, (2, 1), np.uint8)
        coarse = np.full((2, edition.label_bytes - 1), 77, np.uint8)
        planes = pixels.transpose(0, 3, 1, 2).reshape(2, -1)
        records = np.concatenate([coarse, label, planes], axis=1)
        (folder / edition.folder / name).write_bytes(records.tobytes())
        images.append(pixels)
        labels += label.ravel().tolist()
    names = "\n".join(NAMES[edition]) + "\n\n"
    (folder / edition.folder / edition.names).write_text(names)
    return np.concatenate(images), labels


@pytest.mark.parametrize("edition", [CIFAR10, CIFAR100], ids=["cifar10", "cifar100"])
def test_the_binary_version_is_read_unpacked_and_packed(tmp_path, edition):
    images, labels = write_binary(tmp_path, edition)
    name = {CIFAR10: "cifar10", CIFAR100: "cifar100"}[edition]
    unpacked = load_dataset(name, tmp_path)
    archive = tmp_path / "packed" / edition.archive
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(tmp_path / edition.folder, edition.folder)
    md5 = hashlib.md5(archive.read_bytes()).hexdigest()
    packed = read_cifar(archive.parent, edition._replace(md5=md5))
    for dataset in (unpacked, packed):
        np.testing.assert_array_equal(dataset.images, images)
        assert dataset.labels.tolist() == labels
        assert dataset.classes == tuple(NAMES[edition])
        assert np.flatnonzero(dataset.test).tolist() == [len(labels) - 2, len(labels) - 1]
    with pytest.raises(ScopeError, match=f"must have MD5 {edition.md5}, it has {md5}"):
        load_dataset(name, archive.parent)


def test_the_pages_of_the_npm_package_are_read_too(tmp_path):
    pages = [*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png"]
    for shade, name in enumerate(pages):
        Image.fromarray(np.full((1, 1024, 3), shade, np.uint8)).save(tmp_path / name)
    (tmp_path / "train_lables.json").write_text(json.dumps([6, 9, 9, 4, 1]))
    (tmp_path / "test_lables.json").write_text("[3]")
    dataset = load_dataset("cifar10", tmp_path)
    assert dataset.images[:, 0, 0, 0].tolist() == [0, 1, 2, 3, 4, 5]
    assert dataset.labels.tolist() == [6, 9, 9, 4, 1, 3]
    assert dataset.test.tolist() == [False] * 5 + [True]


def test_neither_archive_nor_files_says_which_version_to_get(tmp_path):
    with pytest.raises(ScopeError, match=r"cifar-100-binary\.tar\.gz must lie in"):
        load_dataset("cifar100", tmp_path)


def test_a_missing_or_cut_file_is_named(tmp_path):
    write_binary(tmp_path, CIFAR100)
    train = tmp_path / "cifar-100-binary" / "train.bin"
    train.write_bytes(train.read_bytes()[:-1])
    with pytest.raises(ScopeError, match=r"train\.bin must hold whole records of 3074 bytes"):
        load_dataset("cifar100", tmp_path)
    train.unlink()
    with pytest.raises(ScopeError, match=r"must hold train\.bin"):
        load_dataset("cifar100", tmp_path)
