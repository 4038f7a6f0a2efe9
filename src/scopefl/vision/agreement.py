"""What another runtime changes: which images it would keep, and which it calls anomalous."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection, select
from scopefl.core.fingerprint import nfc
from scopefl.core.policy import consensus
from scopefl.core.profile import Profile
from scopefl.core.scores import Labels, Scores, score
from scopefl.data.decoding import decode, raw_of
from scopefl.data.labels import class_numbers
from scopefl.data.rules import DecodingRules
from scopefl.data.source import Source
from scopefl.data.unreadable import Unreadable
from scopefl.errors import ScopeError
from scopefl.vision.encoder import Encoder
from scopefl.vision.kit import Kit


@dataclass(frozen=True)
class Agreement:
    """Two runtimes side by side over the same images."""

    images: int
    kept: float
    """Jaccard index of the kept images: shared by both over kept by either."""
    anomalous: float
    """Jaccard index of the anomalous images."""
    largest_difference: float
    """Largest difference of any RS or S_neg."""


def jaccard(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Give the share of what both hold in what either holds; 1 where neither holds anything.

    >>> jaccard(np.array([True, True, False]), np.array([True, False, False]))
    0.5
    """
    either = int((one | other).sum())
    return int((one & other).sum()) / either if either else 1.0


def pictures(
    kit: Kit, source: Source, rules: DecodingRules
) -> tuple[list[NDArray[np.uint8]], Labels | None]:
    """Give the readable images at the tower's size, and their class numbers if all are of one."""
    images, labels = [], []
    for item in source:
        try:
            pixels = decode(raw_of(item), rules).pixels
        except Unreadable:
            continue
        images.append(kit.manifest.preprocessing.prepare(pixels))
        labels.append("" if item.label is None else item.label)
    names = nfc(labels)
    known = set(names) <= set(kit.classes)
    return images, class_numbers(names, kit.classes) if known else None


def embed_all(encoder: Encoder, images: Sequence[NDArray[np.uint8]]) -> NDArray[np.float32]:
    """Give the (N, D) unit rows of images (H, W, 3), a batch at a time."""
    parts = [
        encoder.embed(np.stack([encoder.prepare(image) for image in images[start:stop]]))
        for start in range(0, len(images), encoder.batch_size)
        for stop in (start + encoder.batch_size,)
    ]
    return np.concatenate(parts)


def compare_runtimes(
    kit: Kit,
    runtime: str,
    images: Sequence[NDArray[np.uint8]],
    labels: Labels | None = None,
) -> Agreement:
    """Score and select by the paper's rule under float32 and under `runtime`, and compare.

    Where labels are not given, an image counts as what the float32 scores take it for.
    """
    if not images:
        raise ScopeError("at least one readable image is needed to compare runtimes")
    rows = [embed_all(kit.encoder(name), images) for name in ("onnxruntime", runtime)]
    if labels is None:
        labels = (rows[0] @ kit.prototypes.T).argmax(axis=1)
    scores = [score(each, kit.prototypes, labels) for each in rows]
    exact, other = (_selected(each, labels, len(kit.classes)) for each in scores)
    return Agreement(
        images=len(images),
        kept=jaccard(exact.kept, other.kept),
        anomalous=jaccard(exact.anomalous, other.anomalous),
        largest_difference=float(
            max(
                np.abs(scores[0].rs - scores[1].rs).max(),
                np.abs(scores[0].s_neg - scores[1].s_neg).max(),
            )
        ),
    )


def _selected(scores: Scores, labels: Labels, n_classes: int) -> Selection:
    return select(scores, labels, consensus(Profile.of(scores, labels, n_classes)))
