import hashlib
import json
import tarfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scopefl.data.cifar10 import CLASSES, fetch_cifar10, load_cifar10, unpack
from scopefl.errors import ScopeError


def write_package(folder: Path, per_page: int = 3) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    pages = {}
    for name in [*(f"data_batch_{i}.png" for i in range(1, 6)), "test_batch.png"]:
        pages[name] = rng.integers(0, 256, (per_page, 32, 32, 3), np.uint8)
        Image.fromarray(pages[name].reshape(per_page, 1024, 3)).save(folder / name)
    (folder / "train_lables.json").write_text(json.dumps([6, 9, 9] * 5))
    (folder / "test_lables.json").write_text(json.dumps([3, 8, 8]))
    return pages


def test_train_pages_are_read_in_order_with_their_labels(tmp_path):
    pages = write_package(tmp_path)
    train = load_cifar10(tmp_path)
    assert train.images.shape == (15, 32, 32, 3)
    assert train.images.dtype == np.uint8
    np.testing.assert_array_equal(train.images[3:6], pages["data_batch_2.png"])
    assert train.labels.tolist() == [6, 9, 9] * 5


def test_the_test_part_is_its_own_page(tmp_path):
    pages = write_package(tmp_path)
    test = load_cifar10(tmp_path, "test")
    np.testing.assert_array_equal(test.images, pages["test_batch.png"])
    assert [CLASSES[label] for label in test.labels] == ["cat", "ship", "ship"]


def test_a_missing_page_says_how_to_get_it(tmp_path):
    with pytest.raises(ScopeError, match="fetch_cifar10"):
        load_cifar10(tmp_path)


def test_more_labels_than_images_are_refused(tmp_path):
    write_package(tmp_path)
    (tmp_path / "test_lables.json").write_text("[1, 2, 3, 4]")
    with pytest.raises(ScopeError, match="a label for every image"):
        load_cifar10(tmp_path, "test")


def test_a_folder_that_is_complete_is_not_fetched_again(tmp_path):
    write_package(tmp_path)
    assert fetch_cifar10(tmp_path) == tmp_path


def test_unpacking_checks_the_hash_and_drops_every_path(tmp_path):
    (tmp_path / "page.png").write_bytes(b"pixels")
    archive = tmp_path / "package.tgz"
    with tarfile.open(archive, "w:gz") as packed:
        packed.add(tmp_path / "page.png", "../../escape.png")
    target = tmp_path / "out"
    target.mkdir()
    with pytest.raises(ScopeError, match="must have SHA-256"):
        unpack(archive, target, "0" * 64)
    unpack(archive, target, hashlib.sha256(archive.read_bytes()).hexdigest())
    assert [path.name for path in target.iterdir()] == ["escape.png"]
