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
from scopefl.data.files import write_bytes
from scopefl.errors import ScopeError
from scopefl.experiment.pictures import Pictures, load_pictures
from scopefl.experiment.settings import Data
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.encoder import Encoder
from scopefl.vision.kit import Kit

BLOCK = 1024
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
    """The part to train on, the part to test on (None: groups are held out by seed), the kit."""

    classes: tuple[str, ...]
    train: Part
    test: Part | None
    prototypes: NDArray[np.float32]
    fingerprint: bytes
    encoder: str
    seconds_an_image: float

    @property
    def n_classes(self) -> int:
        """Count the classes."""
        return len(self.classes)


def load_collection(data: Data, on_progress: OnProgress = lambda _done, _of: None) -> Collection:
    """Read the images, take the subset the settings ask for, and embed it or find it embedded."""
    pictures = load_pictures(data.name, data.folder)
    chosen = _chosen(pictures, data)
    kit = Kit.load(data.encoder, classes=pictures.classes)
    encoder = kit.encoder()
    total = sum(len(rows) for _, _, rows in chosen)
    parts = list[Part]()
    for images, labels, rows in chosen:
        tell = partial(_tell, on_progress, sum(map(len, parts)), total)
        embeddings = embed(images[rows], kit, encoder, tell)
        parts.append(Part(images[rows], labels[rows], embeddings, _groups(pictures, rows)))
    test = parts[1] if len(parts) > 1 else None
    return Collection(
        pictures.classes,
        parts[0],
        test,
        kit.prototypes,
        kit.fingerprint,
        kit.name,
        _seconds_an_image(parts[0].images[:SAMPLE], encoder),
    )


def _tell(on_progress: OnProgress, before: int, total: int, done: int) -> None:
    on_progress(before + done, total)


def _groups(pictures: Pictures, rows: Rows) -> NDArray[Any] | None:
    return None if pictures.groups is None else pictures.groups[rows]


def _chosen(pictures: Pictures, data: Data) -> list[tuple[NDArray[np.uint8], Labels, Rows]]:
    train, labels = pictures.images, pictures.labels
    n_classes = len(pictures.classes)
    if pictures.groups is not None:
        return [(train, labels, _of_each(labels, n_classes, 0, data.samples))]
    if data.held_out not in ("test", "train"):
        raise ScopeError(f"[data] held_out must be test or train, got {data.held_out!r}")
    first = (train, labels, _of_each(labels, n_classes, 0, data.samples))
    if data.held_out == "train":
        if not (data.samples and data.test_samples):
            raise ScopeError('[data] held_out = "train" needs samples and test_samples above 0')
        rows = _of_each(labels, n_classes, data.samples, data.test_samples)
        return [first, (train, labels, rows)]
    assert pictures.test_images is not None
    assert pictures.test_labels is not None
    rows = _of_each(pictures.test_labels, n_classes, 0, data.test_samples)
    return [first, (pictures.test_images, pictures.test_labels, rows)]


def _of_each(labels: Labels, n_classes: int, start: int, count: int) -> Rows:
    end = start + count if count else None
    rows = [rows[start:end] for rows in by_class(labels, n_classes)]
    return np.sort(np.concatenate(rows))


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
        batch = [_rgb(image) for image in block[start : start + encoder.batch_size]]
        rows.append(encoder.embed(np.stack([encoder.prepare(image) for image in batch])))
    return np.concatenate(rows)


def _seconds_an_image(images: NDArray[np.uint8], encoder: Encoder) -> float:
    began = time.perf_counter()
    _embedded(images, encoder)
    return (time.perf_counter() - began) / max(len(images), 1)


def _rgb(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
