"""From a collection of images to its scores file: every input a row, scored or quarantined."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import nfc
from scopefl.core.scores import Labels, Scores, score
from scopefl.data.labels import check_classes, class_numbers
from scopefl.data.rules import DecodingRules
from scopefl.data.scores_file import ScoresFile
from scopefl.data.source import Item, Source
from scopefl.data.unreadable import Unreadable
from scopefl.errors import ScopeError
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.embedding import Cache, Outcome, embed
from scopefl.vision.fitness import Fitness, fitness, wrong_labels
from scopefl.vision.kit import Kit
from scopefl.vision.prototypes import Centroids, against_means

CHUNK = 4096


@dataclass(frozen=True)
class Embedded:
    """A collection after its images were embedded; rows come from the cache."""

    outcomes: tuple[Outcome, ...]
    cache: Cache
    kit: Kit

    @property
    def scored(self) -> list[Outcome]:
        """Give the items that have an embedding and a label."""
        return [one for one in self.outcomes if one.key is not None]

    @property
    def noted(self) -> tuple[Outcome, ...]:
        """Give the outcomes, what decoding did to an image as the reason of its row."""
        return tuple(
            one if one.key is None else replace(one, reason=self.cache.note(one.key))
            for one in self.outcomes
        )

    @property
    def keys(self) -> list[bytes]:
        """Give the keys of the scored items."""
        return [one.key for one in self.scored if one.key is not None]

    @property
    def labels(self) -> Labels:
        """Give the class numbers of the scored items."""
        return class_numbers(nfc([one.label or "" for one in self.scored]), self.kit.classes)

    @property
    def centroids(self) -> Centroids:
        """Add up the scored items' embeddings per class."""
        keys, labels = self.keys, self.labels
        whole = Centroids.empty(len(self.kit.classes), self.kit.manifest.dim)
        for start in range(0, len(keys), CHUNK):
            rows = unit_rows(self.cache, keys[start : start + CHUNK])
            whole += Centroids.of(rows, labels[start : start + CHUNK], len(self.kit.classes))
        return whole


def unit_rows(cache: Cache, keys: list[bytes]) -> NDArray[np.float32]:
    """Give cached embeddings as float32 rows of length 1: half precision bent them a little."""
    rows = cache.rows(keys).astype(np.float32)
    unit: NDArray[np.float32] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


def check_labels_known(source: Source, classes: Sequence[str]) -> None:
    """Refuse labels that are no class, before an hour is spent on embedding."""
    if not len(source):
        raise ScopeError(f"{source.name} must hold at least one image, it holds none")
    labels = [item.label for item in source if item.label is not None]
    if not labels:
        raise _no_labels(source)
    class_numbers(nfc(labels), classes)


def _no_labels(source: Source) -> ScopeError:
    return ScopeError(
        f"{source.name} names no labels; put images into class folders or give a table with a "
        "label column"
    )


def nfc_or_none(labels: Iterable[str | None]) -> list[str | None]:
    """Give labels in one spelling; none stays none."""
    return [None if label is None else nfc([label])[0] for label in labels]


def class_list(source: Source, given: Sequence[str] | None) -> tuple[str, ...]:
    """Give the classes that were named, else those the source itself knows, else its labels."""
    names = given or source.classes or sorted({i.label for i in source if i.label is not None})
    if not names:
        raise _no_labels(source)
    return check_classes(nfc(names))


def embed_source(
    source: Source,
    kit: Kit,
    rules: DecodingRules,
    folder: Path,
    *,
    runtime: str = "auto",
    part: tuple[int, int] = (0, 1),
    passed: Callable[[Outcome], None] = lambda _: None,
) -> Embedded:
    """Embed what the cache does not hold yet: all items, or every n-th from i for `part` (i, n)."""
    check_labels_known(source, kit.classes)
    cache = Cache.of(folder, kit, rules, runtime)
    first, step = part
    items = (labelled(item) for item in islice(source, first, None, step))
    outcomes = tuple(embed(items, kit.encoder(runtime), rules, cache, passed))
    return Embedded(outcomes, cache, kit)


def labelled(item: Item) -> Item:
    """Give an item that cannot be read where it has no label to be scored under."""
    return item if item.label is not None else unreadable(item, "it has no label")


def unreadable(item: Item, reason: str) -> Item:
    """Give an item that is not read, for this reason."""
    return replace(item, read=partial(_refuse, reason), file=None)


def _refuse(reason: str) -> bytes:
    raise Unreadable(reason)


def with_rules(kit: Kit, rules: DecodingRules, runtime: str = "auto") -> Kit:
    """Give the kit whose fingerprint includes these decoding rules, and bf16 or int8 if used."""
    return kit.used({k: json.dumps(v) for k, v in rules.canonical().items()}, runtime)


def score_source(
    source: Source,
    kit: Kit,
    rules: DecodingRules | None = None,
    *,
    cache: Path | None = None,
    runtime: str = "auto",
    centroids: Centroids | None = None,
) -> tuple[ScoresFile, Fitness]:
    """Score a collection as `scope score` does, and say how well the encoder reads its classes."""
    rules = rules or DecodingRules()
    kit = with_rules(kit, rules, runtime)
    embedded = embed_source(source, kit, rules, cache or cache_folder(), runtime=runtime)
    return score_embedded(embedded, rules, centroids)


def score_embedded(
    embedded: Embedded, rules: DecodingRules, centroids: Centroids | None = None
) -> tuple[ScoresFile, Fitness]:
    """Score what was embedded, against the kit's prototypes or the sites' class means."""
    labels, keys = embedded.labels, embedded.keys
    wrong = wrong_labels(keys, labels, len(embedded.kit.classes))
    scores = _score(embedded, labels, labels, centroids)
    fit = fitness(
        scores, labels, _score(embedded, labels, wrong, centroids), wrong, embedded.kit.classes
    )
    return (
        scores_file(embedded.noted, scores, labels, fit, embedded.kit, rules, centroids),
        fit,
    )


def scores_file(
    outcomes: Sequence[Outcome],
    scores: Scores,
    labels: Labels,
    fit: Fitness,
    kit: Kit,
    rules: DecodingRules,
    centroids: Centroids | None = None,
) -> ScoresFile:
    """Put the scores of the outcomes that have a key in their places among all outcomes."""
    scored = [one for one in outcomes if one.key is not None]
    file = ScoresFile.of(
        scores,
        labels,
        kit.classes,
        fingerprint_of(kit, centroids),
        ids=[one.id for one in scored],
        paths=[one.path for one in scored],
        settings={
            "kit": kit.name,
            "arithmetic": kit.manifest.arithmetic,
            "prototypes": "text" if centroids is None else "visual",
            "decoding": rules.canonical(),
            "duplicates": len(scored) - len({one.key for one in scored}),
            "fitness": fit.settings,
        },
    )
    return file.among(
        np.array([one.key is not None for one in outcomes], bool),
        ids=[one.id for one in outcomes],
        paths=[one.path for one in outcomes],
        labels=nfc_or_none(one.label for one in outcomes),
        reasons=[one.reason for one in outcomes],
    )


def fingerprint_of(kit: Kit, centroids: Centroids | None) -> bytes:
    """Name what decided the scores: the kit, and the class means where they replaced its texts."""
    if centroids is None:
        return kit.fingerprint
    return kit.with_visual_prototypes(centroids.sha256).fingerprint


def _score(
    embedded: Embedded, labels: Labels, asked: Labels, centroids: Centroids | None
) -> Scores:
    """Score every row as if it were of the class `asked`; its own label says where it counts."""
    keys = embedded.keys
    parts = []
    for start in range(0, len(keys), CHUNK):
        here = slice(start, start + CHUNK)
        rows = unit_rows(embedded.cache, keys[here])
        parts.append(
            score(rows, embedded.kit.prototypes, asked[here])
            if centroids is None
            else against_means(rows, labels[here], asked[here], centroids)
        )
    return Scores.concatenated(parts)
