import numpy as np
import pytest

from scopefl.experiment.collection import Collection, Part
from scopefl.experiment.perform import Workshop
from scopefl.experiment.settings import Data, Division, Pruning, Training
from scopefl.experiment.spec import Run
from scopefl.train.cost import Cost

CLASSES = ("a", "b", "c", "d")


def make_part(per_class, seed):
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(len(CLASSES)), per_class)
    rows = rng.normal(size=(len(labels), 12)) + 3 * np.eye(len(CLASSES), 12)[labels]
    unit = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    images = rng.integers(0, 255, (len(labels), 8, 8, 3), dtype=np.uint8)
    return Part(images, labels, unit)


@pytest.fixture
def collection():
    """Four separable classes in twelve dimensions, 60 images of each, 20 to test on."""
    prototypes = np.eye(len(CLASSES), 12, dtype=np.float32)
    return Collection(
        CLASSES, make_part(60, 0), make_part(20, 1), prototypes, b"k" * 8, "e", Cost(0.001, 100, 7)
    )


@pytest.fixture
def workshop(collection):
    """A workshop that finds the collection of the plain data settings made."""
    found = Workshop()
    found.once(Data(), lambda: collection)
    return found


@pytest.fixture
def run():
    """One short run with settings changed at will."""

    def make(seed=0, **pruning):
        return Run(
            Data(),
            Division(clients=4, alpha=1.0, imbalance_ratio=4.0, noise=0.1),
            Training(features=0, rounds=3, batch_size=16, evaluate_every=1),
            Pruning(**pruning),
            seed,
        )

    return make
