"""Fashion-MNIST from its four idx files, packed or not, such as a Linux distribution ships."""

import gzip
import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.data.datasets.dataset import Dataset
from scopefl.errors import ScopeError

CLASSES = (
    "T-shirt/top",
    "trouser",
    "pullover",
    "dress",
    "coat",
    "sandal",
    "shirt",
    "sneaker",
    "bag",
    "ankle boot",
)
# Of the unpacked files, as Debian's package dataset-fashion-mnist 0.0~git20200523 ships them;
# the packed files differ from one publisher to the next.
SHA256 = {
    "train-images-idx3-ubyte": "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
    "train-labels-idx1-ubyte": "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
    "t10k-images-idx3-ubyte": "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
    "t10k-labels-idx1-ubyte": "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
}
LARGEST = 1 << 28
_UNSIGNED_BYTES = 8


def fashion_mnist(folder: Path, sha256: Mapping[str, str] = SHA256) -> Dataset:
    """Give Fashion-MNIST, grey, from a folder with its four files."""
    images, labels, test = [], [], []
    for part in ("train", "t10k"):
        images.append(_idx(folder, f"{part}-images-idx3-ubyte", 3, sha256))
        labels.append(_idx(folder, f"{part}-labels-idx1-ubyte", 1, sha256))
        test.append(np.full(len(labels[-1]), part == "t10k"))
    return Dataset(
        np.concatenate(images),
        np.concatenate(labels).astype(np.int64),
        CLASSES,
        test=np.concatenate(test),
    )


def _idx(folder: Path, name: str, axes: int, sha256: Mapping[str, str]) -> NDArray[np.uint8]:
    content = _content(folder, name)
    given = hashlib.sha256(content).hexdigest()
    if given != sha256[name]:
        raise ScopeError(
            f"{name} in {folder} must have SHA-256 {sha256[name]} when unpacked, it has {given}; "
            "download it again"
        )
    header = 4 + 4 * axes
    shape = np.frombuffer(content[4:header], ">u4").astype(np.intp)
    if content[:4] != bytes([0, 0, _UNSIGNED_BYTES, axes]) or len(content) != header + shape.prod():
        raise ScopeError(f"{name} in {folder} must be an idx file of bytes with {axes} axes")
    return np.frombuffer(content, np.uint8, offset=header).reshape(shape)


def _content(folder: Path, name: str) -> bytes:
    packed, plain = folder / f"{name}.gz", folder / name
    if plain.is_file():
        return plain.read_bytes()
    if not packed.is_file():
        raise ScopeError(
            f"{name} must lie in {folder}, packed (.gz) or not; Debian's package "
            "dataset-fashion-mnist puts it into /usr/share/datasets/fashion-mnist"
        )
    try:
        with gzip.open(packed) as file:
            return bytes(file.read(LARGEST))
    except (OSError, EOFError, zlib.error) as error:
        raise ScopeError(f"{packed} must be a whole gzip file: {error}") from error
