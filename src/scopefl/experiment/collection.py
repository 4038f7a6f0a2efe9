"""One data set as an experiment wants it: a subset of images, embedded once and kept."""

import hashlib
import io
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.order import Rows, by_class
from scopefl.core.scores import Labels
from scopefl.data.cifar10 import fetch_cifar10
from scopefl.data.datasets import Dataset, load_dataset
from scopefl.data.files import write_bytes
from scopefl.errors import ScopeError
from scopefl.experiment.settings import Data
from scopefl.train.cost import Cost, metered
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.encoder import Encoder
from scopefl.vision.flops import image_flops
from scopefl.vision.kit import Kit

BLOCK = 1024
PATHS_SIDE = 224
"""The side of images read from files one by one, where the settings name none."""
USUAL = {"fashion_mnist": Path("/usr/share/datasets/fashion-mnist")}
PLACELESS = ("folder", "hub", "source")
SAMPLE = 32
"""Images embedded anew to say what an image costs where the rows themselves were kept."""

OnProgress = Callable[[int, int], None]
"""Told how many of how many images are embedded."""


@dataclass(frozen=True)
class Part:
    """N images with their labels, embeddings (N, D), and groups (N,) that stay together, if any."""

    images: NDArray[np.uint8]
    labels: Labels
    embeddings: NDArray[np.float32]
    groups: NDArray[Any] | None = None

    def __getitem__(self, rows: Rows | NDArray[np.bool_]) -> "Part":
        """Take some of the images."""
        groups = None if self.groups is None else self.groups[rows]
        return Part(self.images[rows], self.labels[rows], self.embeddings[rows], groups)

    def __len__(self) -> int:
        """Count the images."""
        return len(self.labels)


@dataclass(frozen=True)
class Collection:
    """The part to train on, the part to test on (None: held out by seed), the kit.

    `an_image` is what it costs to embed one.
    """

    classes: tuple[str, ...]
    train: Part
    test: Part | None
    prototypes: NDArray[np.float32]
    fingerprint: bytes
    encoder: str
    an_image: Cost

    @property
    def n_classes(self) -> int:
        """Count the classes."""
        return len(self.classes)


def load_collection(data: Data, on_progress: OnProgress = lambda _done, _of: None) -> Collection:
    """Read the images, take the subset the settings ask for, and embed it or find it embedded."""
    dataset = load_dataset(data.name, data_folder(data))
    chosen = _chosen(dataset, data)
    kit = kit_for(data, dataset.classes)
    encoder = kit.encoder()
    total = sum(map(len, chosen))
    parts = list[Part]()
    for rows in chosen:
        images = dataset.pixels(data.side or _native_side(dataset), rows)
        tell = partial(_tell, on_progress, sum(map(len, parts)), total)
        groups = None if dataset.groups is None else dataset.groups[rows]
        parts.append(Part(images, dataset.labels[rows], embed(images, kit, encoder, tell), groups))
    return Collection(
        dataset.classes,
        parts[0],
        parts[1] if len(parts) > 1 else None,
        kit.prototypes,
        kit.fingerprint,
        kit.name,
        cost_an_image(parts[0].images[:SAMPLE], kit),
    )


def kit_for(data: Data, classes: tuple[str, ...]) -> Kit:
    """Give the encoder's kit for a data set: a kit, or the one under that name in a folder of kits.

    A kit is made for its classes, so an encoder that scores several data sets has one for each.
    """
    own = Path(data.encoder).expanduser() / data.name
    return Kit.load(own if own.is_dir() else Path(data.encoder).expanduser(), classes=classes)


def data_folder(data: Data) -> Path:
    """Give where a data set lies: where the settings say, or where it is usually put."""
    if data.name in PLACELESS and not data.folder:
        raise ScopeError(f"[data] folder must say where {data.name!r} finds its images, got none")
    cached = cache_folder() / "data" / data.name
    usual = cached if cached.exists() else USUAL.get(data.name, cached)
    folder = Path(data.folder).expanduser() if data.folder else usual
    if data.name == "cifar10" and not data.folder:
        folder = fetch_cifar10(folder)
    return folder


def _native_side(dataset: Dataset) -> int:
    return PATHS_SIDE if isinstance(dataset.images, tuple) else dataset.images.shape[1]


def _tell(on_progress: OnProgress, before: int, total: int, done: int) -> None:
    on_progress(before + done, total)


def _chosen(dataset: Dataset, data: Data) -> list[Rows]:
    if data.held_out not in ("test", "train"):
        raise ScopeError(f"[data] held_out must be test or train, got {data.held_out!r}")
    if dataset.test is None:
        return [_of_each(dataset, np.ones(len(dataset), bool), 0, data.samples)]
    train = _of_each(dataset, ~dataset.test, 0, data.samples)
    if data.held_out == "test":
        return [train, _of_each(dataset, dataset.test, 0, data.test_samples)]
    if not (data.samples and data.test_samples):
        raise ScopeError('[data] held_out = "train" needs samples and test_samples above 0')
    return [train, _of_each(dataset, ~dataset.test, data.samples, data.test_samples)]


def _of_each(dataset: Dataset, part: NDArray[np.bool_], start: int, count: int) -> Rows:
    """Give the rows of a part, of each class those from `start` on, `count` of them or all."""
    rows = np.flatnonzero(part)
    groups = by_class(dataset.labels[rows], len(dataset.classes))
    end = start + count if count else None
    return np.sort(np.concatenate([rows[group[start:end]] for group in groups]))


def embed(
    images: NDArray[np.uint8], kit: Kit, encoder: Encoder, on_progress: Callable[[int], None]
) -> NDArray[np.float32]:
    """Give a unit row an image, block by block, each block kept under a hash of its pixels."""
    rows = np.empty((len(images), encoder.dim), np.float32)
    for start in range(0, len(images), BLOCK):
        block = np.ascontiguousarray(images[start : start + BLOCK])
        path = _kept_at(block, kit)
        found = _read(path, (len(block), encoder.dim))
        if found is None:
            found = _embedded(block, encoder)
            buffer = io.BytesIO()
            np.save(buffer, found, allow_pickle=False)
            write_bytes(path, buffer.getvalue())
        rows[start : start + len(block)] = found
        on_progress(start + len(block))
    return rows


def _kept_at(block: NDArray[np.uint8], kit: Kit) -> Path:
    # The prototypes do not touch an image's row: kits of other classes share what is kept.
    tower = kit.manifest.files["image.onnx"]
    about = f"{tower} {kit.manifest.preprocessing} {block.shape}".encode()
    digest = hashlib.blake2b(about, digest_size=16)
    digest.update(block.data)
    return cache_folder() / "embeddings" / f"{digest.hexdigest()}.npy"


def _read(path: Path, shape: tuple[int, int]) -> NDArray[np.float32] | None:
    try:
        found = np.load(path, allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    return found if found.shape == shape and found.dtype == np.float32 else None


def _embedded(block: NDArray[np.uint8], encoder: Encoder) -> NDArray[np.float32]:
    rows = []
    for start in range(0, len(block), encoder.batch_size):
        batch = block[start : start + encoder.batch_size]
        rows.append(encoder.embed(np.stack([encoder.prepare(image) for image in batch])))
    return np.concatenate(rows)


def cost_an_image(images: NDArray[np.uint8], kit: Kit) -> Cost:
    """Measure what it costs to embed one of these images; memory is that of a batch of them."""
    with metered() as meter:
        encoder = kit.encoder()
        _embedded(images[:1], encoder)  # the weights are loaded with the first image
        began = time.perf_counter()
        _embedded(images, encoder)
        seconds = time.perf_counter() - began
    return Cost(seconds / max(len(images), 1), image_flops(kit.model), meter.peak_bytes)
