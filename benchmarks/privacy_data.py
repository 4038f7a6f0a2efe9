"""Real scores for `make privacy-bench`, and how far two policies' selections agree."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scopefl import Policy, Profile, Scores, consensus, score, select
from scopefl.core.noisy import only
from scopefl.data.partition import dirichlet, long_tail
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.kit import Kit

ALPHA, IMBALANCE = 0.5, 10


@dataclass(frozen=True)
class Scored:
    """The scores of one data set by the offline kit."""

    name: str
    scores: Scores
    labels: np.ndarray
    n_classes: int
    imbalance: int | None = IMBALANCE
    """Between the largest and the smallest class; None where the images are so by themselves."""

    @property
    def low(self):
        """Give the lower end of a clipping range; a collaboration takes it from public data."""
        return min(np.quantile(x, 0.001) for x in (self.scores.rs, self.scores.s_neg))

    @property
    def high(self):
        """Give the upper end."""
        return max(np.quantile(x, 0.999) for x in (self.scores.rs, self.scores.s_neg))


def real_scores(name, dataset, n):
    """Score n images with the offline kit, once: the embeddings stay in the cache folder."""
    kit = Kit.load("offline", dataset.classes)
    rows = np.sort(np.random.default_rng(0).permutation(len(dataset))[:n])
    kept = cache_folder() / "privacy-bench" / f"{name}-{n}-{kit.fingerprint.hex()}.npz"
    if not kept.exists():
        encoder = kit.encoder()
        pixels = dataset.pixels(dataset.images.shape[1], rows)
        parts = np.array_split(pixels, max(1, len(pixels) // 64))
        vectors = [encoder.embed(np.stack([encoder.prepare(x) for x in part])) for part in parts]
        kept.parent.mkdir(parents=True, exist_ok=True)
        np.savez(kept, train=np.concatenate(vectors), prototypes=kit.prototypes,
                 train_labels=dataset.labels[rows])  # fmt: skip
    return from_embeddings(name, kept)


def from_embeddings(name, path: Path):
    """Score embeddings of one's own: an .npz with `train`, `train_labels`, `prototypes`."""
    with np.load(path, allow_pickle=False) as arrays:
        rows, labels, prototypes = (arrays[k] for k in ("train", "train_labels", "prototypes"))
    return Scored(name, score(rows, prototypes, labels), labels, len(prototypes))


def sites(data: Scored, k, seed):
    """Divide a long-tailed draw of the data over k sites."""
    rng = np.random.default_rng(seed)
    tail = np.arange(len(data.labels))
    if data.imbalance:
        tail = long_tail(data.labels, data.imbalance, rng)
    parts = dirichlet(data.labels[tail], k, ALPHA, rng)
    return [(only(data.scores, tail[r]), data.labels[tail[r]]) for r in parts.rows]


def fates(held, policies):
    """Select at every site by its policy; give kept and pruned of all of them, in a row."""
    kept = [select(s, y, p).kept for (s, y), p in zip(held, policies, strict=True)]
    return np.concatenate(kept)


def jaccard(a, b):
    """Give how far two selections agree: kept, and pruned."""
    return tuple(float((x & y).sum() / max((x | y).sum(), 1)) for x, y in ((a, b), (~a, ~b)))


def profiles(held, n_classes):
    return [Profile.of(s, y, n_classes) for s, y in held]


def pooled(found) -> Policy:
    return consensus(sum(found, Profile.empty(found[0].n_classes)))
