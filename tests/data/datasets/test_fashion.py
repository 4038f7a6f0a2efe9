import gzip
import hashlib

import numpy as np
import pytest

from scopefl.data.datasets.fashion import SHA256, fashion_mnist
from scopefl.errors import ScopeError


def idx(array):
    return bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes() + array.tobytes()


FILES = {
    "train-images-idx3-ubyte": np.arange(3 * 28 * 28).reshape(3, 28, 28).astype(np.uint8),
    "train-labels-idx1-ubyte": np.array([9, 0, 4], np.uint8),
    "t10k-images-idx3-ubyte": np.ones((1, 28, 28), np.uint8),
    "t10k-labels-idx1-ubyte": np.array([2], np.uint8),
}
CONTENT = {name: idx(array) for name, array in FILES.items()}
SUMS = {name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()}


@pytest.mark.parametrize("packed", [True, False])
def test_the_four_files_are_read_packed_or_not(tmp_path, packed):
    for name, content in CONTENT.items():
        if packed:
            (tmp_path / f"{name}.gz").write_bytes(gzip.compress(content))
        else:
            (tmp_path / name).write_bytes(content)
    dataset = fashion_mnist(tmp_path, SUMS)
    np.testing.assert_array_equal(dataset.images[:3], FILES["train-images-idx3-ubyte"])
    assert [dataset.classes[label] for label in dataset.labels] == [
        "ankle boot",
        "T-shirt/top",
        "coat",
        "pullover",
    ]
    assert dataset.test.tolist() == [False, False, False, True]
    assert dataset.pixels(28).shape == (4, 28, 28, 3)


def test_other_content_than_the_published_is_refused(tmp_path):
    for name, content in CONTENT.items():
        (tmp_path / name).write_bytes(content)
    expected = SHA256["train-images-idx3-ubyte"]
    with pytest.raises(ScopeError, match=f"must have SHA-256 {expected} when unpacked"):
        fashion_mnist(tmp_path)


@pytest.mark.parametrize("change", [lambda c: c[:-1], lambda c: c[:3] + b"\1" + c[4:]])
def test_a_file_that_is_no_idx_file_is_refused(tmp_path, change):
    sums = dict(SUMS)
    for name, content in CONTENT.items():
        content = change(content)
        (tmp_path / name).write_bytes(content)
        sums[name] = hashlib.sha256(content).hexdigest()
    with pytest.raises(ScopeError, match="must be an idx file"):
        fashion_mnist(tmp_path, sums)


def test_a_missing_file_says_where_to_get_it(tmp_path):
    with pytest.raises(ScopeError, match="dataset-fashion-mnist"):
        fashion_mnist(tmp_path)


def test_a_gzip_file_that_is_cut_is_refused(tmp_path):
    name = "train-images-idx3-ubyte"
    (tmp_path / f"{name}.gz").write_bytes(gzip.compress(CONTENT[name])[:-20])
    with pytest.raises(ScopeError, match="must be a whole gzip file"):
        fashion_mnist(tmp_path)
