"""One collection, made long-tailed and noisy and divided among clients by one seed."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core.order import Rows
from scopefl.core.scores import Labels, Scores, score
from scopefl.data.partition import hold_out, long_tail, noisy
from scopefl.errors import ScopeError
from scopefl.experiment.collection import Collection, Part
from scopefl.experiment.division import divide
from scopefl.experiment.settings import Division
from scopefl.methods import Client, Trained
from scopefl.train.cost import Cost, metered
from scopefl.vision.prototypes import Centroids, leave_one_out

HELD_OUT = 0.35
TRIES = 200
STREAMS = 4


@dataclass(frozen=True)
class Scene:
    """N training images with given labels (N,), which were flipped (N,), rows of each client.

    `retries` counts the draws of clients that were thrown away, a client having too little.
    """

    collection: Collection
    train: Part
    labels: NDArray[np.int64]
    flipped: NDArray[np.bool_]
    rows: tuple[Rows, ...]
    test: Part
    seed: int
    retries: int = 0

    @property
    def counts(self) -> NDArray[np.int64]:
        """Count the samples of each class at each client, (K, C)."""
        n_classes = self.collection.n_classes
        return np.stack([np.bincount(self.labels[r], minlength=n_classes) for r in self.rows])


def build_scene(collection: Collection, division: Division, seed: int) -> Scene:
    """Draw test groups, tail, noise and clients, each from its own random stream."""
    split, tail, flips, owners = map(
        np.random.default_rng, np.random.SeedSequence(seed).spawn(STREAMS)
    )
    pool, test = _split(collection, split)
    pool = pool[long_tail(pool.labels, division.imbalance_ratio, tail)]
    given = noisy(pool.labels, collection.n_classes, division.noise, flips)
    clients = divide(given.labels, division, owners, pool.groups)
    return Scene(
        collection, pool, given.labels, given.flipped, clients.rows, test, seed, clients.retries
    )


def _split(collection: Collection, rng: np.random.Generator) -> tuple[Part, Part]:
    if collection.test is not None:
        return collection.train, collection.test
    whole = collection.train
    each = np.arange(len(whole)) if whole.groups is None else whole.groups
    for _ in range(TRIES):
        held = hold_out(each, HELD_OUT, rng)
        parts = whole[~held], whole[held]
        if all(len(np.unique(part.labels)) == collection.n_classes for part in parts):
            return parts
    raise ScopeError(
        f"no draw of {TRIES} held out groups with every class on both sides; merge rare classes"
    )


def text_scores(scene: Scene) -> tuple[Scores, Cost]:
    """Score every training image against the kit's prototypes."""
    with metered() as meter:
        scores = score(scene.train.embeddings, scene.collection.prototypes, scene.labels)
    return scores, meter.cost()


def visual_scores(scene: Scene) -> tuple[Scores, Cost]:
    """Score every training image against class means over all clients, which are sent first."""
    rows, n_classes = scene.train.embeddings, scene.collection.n_classes
    kit = scene.collection.fingerprint
    with metered() as meter:
        sent = [Centroids.of(rows[r], scene.labels[r], n_classes) for r in scene.rows]
        merged = sum(sent, Centroids.empty(n_classes, rows.shape[1]))
        scores = leave_one_out(rows, scene.labels, merged)
    up = sum(len(one.to_bytes(kit)) for one in sent)
    return scores, meter.cost(up=up, down=len(merged.to_bytes(kit)) * len(sent))


def clients_of(
    scene: Scene, scores: Scores, warm: Sequence[Sequence[Trained]] = ()
) -> list[Client]:
    """Give what each client holds; `warm` has the models' view of each client, by repeat."""
    return [
        Client.of(
            str(k),
            rows,
            scene.labels[rows],
            scene.collection.n_classes,
            scores[rows],
            scene.train.embeddings[rows],
            warm=[repeat[k] for repeat in warm],
            fingerprint=scene.collection.fingerprint,
            seed=scene.seed,
        )
        for k, rows in enumerate(scene.rows)
    ]


def class_counts(labels: Labels, n_classes: int) -> list[int]:
    """Count the samples of each class."""
    counts: list[int] = np.bincount(labels, minlength=n_classes).tolist()
    return counts
