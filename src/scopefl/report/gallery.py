"""Which images the page shows, and their thumbnails."""

import base64
import io
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scopefl.report.collection import ANOMALOUS, KEPT, REDUNDANT, Collection
from scopefl.report.words import reason

FIRST, PER_CLASS, MOST, GLANCE = 12, 3, 48, 5
SIDE = 96
QUALITY = 72

Rows = NDArray[np.intp]


@dataclass(frozen=True)
class Card:
    """One image of a gallery, with what is near it."""

    row: int
    why: str
    thumbnail: str | None
    extra: bool
    twin: "Card | None" = None
    twin_note: str = ""


@dataclass(frozen=True)
class Gallery:
    """Some images that show one thing."""

    id: str
    title: str
    about: str
    cards: Sequence[Card]

    def at_a_glance(self, labels: NDArray[np.integer[Any]]) -> list[Card]:
        """Give a few cards that have pictures, of as many classes (labels, by row) as there are."""
        pictured = [card for card in self.cards if card.thumbnail]
        times: dict[int, int] = {}
        turns = []
        for place, card in enumerate(pictured):
            label = int(labels[card.row])
            turns.append((times.get(label, 0), place))
            times[label] = times.get(label, 0) + 1
        return [pictured[place] for _, place in sorted(turns)[:GLANCE]]


def galleries(collection: Collection) -> list[Gallery]:
    """Choose the worst anomalies, the most redundant with their twins, and the borderline kept."""
    lean = collection.s_neg - collection.rs
    worst = _picked(collection, _top(collection, ANOMALOUS, collection.anomaly, lean))
    typical = _picked(collection, _top(collection, REDUNDANT, collection.redundancy, -lean))
    edge = _picked(collection, _borderline(collection))
    return [
        Gallery(
            "anomalies",
            "Worst anomalies",
            "Highest anomaly score first: wrong labels, odd images, two classes in one picture. "
            "Look at them before you trust the filter; export them to relabel rather than lose.",
            [_card(collection, row, extra) for row, extra in worst],
        ),
        Gallery(
            "redundant",
            "Most redundant, with the nearest image that stays",
            "Images of classes that are common, the most typical first. If what stays could not "
            "stand in for what went, prune less.",
            [_with_twin(collection, row, extra) for row, extra in typical],
        ),
        Gallery(
            "borderline",
            "Borderline, kept",
            "What stayed though it leans to its rival, or is as typical as what went: the next to "
            "go, by turns.",
            [_card(collection, row, extra) for row, extra in edge],
        ),
    ]


def candidates(collection: Collection) -> Rows:
    """Give all rows that a gallery can show: the first of each class in each of its orders."""
    lean = collection.s_neg - collection.rs
    orders = (
        _top(collection, ANOMALOUS, collection.anomaly, lean),
        _top(collection, REDUNDANT, collection.redundancy, -lean),
        _top(collection, KEPT, collection.anomaly, lean),
        _top(collection, KEPT, collection.redundancy, -lean),
    )
    return np.concatenate([_first_of_class(collection, ranked) for ranked in orders])


def _first_of_class(collection: Collection, ranked: Rows) -> Rows:
    by_class = ranked[np.argsort(collection.label[ranked], kind="stable")]
    label = collection.label[by_class]
    within = np.arange(len(label)) - np.searchsorted(label, label)
    return by_class[within < FIRST]


def _top(collection: Collection, fate: int, first: NDArray[Any], then: NDArray[Any]) -> Rows:
    rows = np.flatnonzero(collection.fate == fate)
    return rows[np.lexsort((rows, -then[rows], -first[rows]))]


def _borderline(collection: Collection) -> Rows:
    """Take turns between the kept nearest to anomalous and the kept nearest to redundant."""
    suspect = _top(collection, KEPT, collection.anomaly, collection.s_neg - collection.rs)
    spare = _top(collection, KEPT, collection.redundancy, collection.rs - collection.s_neg)
    cut = np.unique(collection.label[collection.fate == REDUNDANT])
    spare = spare[np.isin(collection.label[spare], cut)]
    turns = [row for pair in zip(suspect, spare, strict=False) for row in pair[:MOST]]
    rows = np.array([*turns, *suspect], np.intp)
    _, first = np.unique(rows, return_index=True)
    return rows[np.sort(first)]


def _picked(collection: Collection, ranked: Rows) -> list[tuple[int, bool]]:
    """Take the first 12 of all, then up to 3 of each class for those who filter by class."""
    first = ranked[:FIRST]
    taken = np.bincount(collection.label[first], minlength=len(collection.classes))
    more: list[int] = []
    for row in ranked[FIRST:].tolist():
        if len(more) >= MOST - FIRST:
            break
        if taken[collection.label[row]] < PER_CLASS:
            taken[collection.label[row]] += 1
            more.append(row)
    return [(row, False) for row in first.tolist()] + [(row, True) for row in more]


def _card(collection: Collection, row: int, extra: bool) -> Card:
    image = collection.image(row)
    shown = None if image is None else thumbnail(image)
    return Card(row, reason(collection, row), shown, extra)


def _with_twin(collection: Collection, row: int, extra: bool) -> Card:
    card = _card(collection, row, extra)
    found = twin(collection, row)
    if found is None:
        return card
    return replace(card, twin=_card(collection, found[0], extra), twin_note=found[1])


def twin(collection: Collection, row: int) -> tuple[int, str] | None:
    """Give the nearest kept sample of the same site and class, and how near it is."""
    alike = (
        (collection.fate == KEPT)
        & (collection.label == collection.label[row])
        & (collection.client == collection.client[row])
    )
    others = np.flatnonzero(alike)
    if not len(others):
        return None
    among = "" if collection.whole else f" of {len(others):,} that were looked at"
    if collection.embeddings is not None:
        rows = np.asarray(collection.embeddings[others], np.float64)
        one = np.asarray(collection.embeddings[row], np.float64)
        cosine = rows @ one / (np.linalg.norm(rows, axis=1) * np.linalg.norm(one) + 1e-12)
        best = int(cosine.argmax())
        return int(others[best]), f"cosine {cosine[best]:.3f}{among}"
    apart = np.hypot(
        collection.rs[others] - collection.rs[row], collection.s_neg[others] - collection.s_neg[row]
    )
    return int(others[int(apart.argmin())]), f"nearest by scores{among}; no embeddings were given"


def thumbnail(image: NDArray[np.uint8]) -> str:
    """Give a small WebP as a data URI; an image smaller than the frame stays as it is."""
    picture = Image.fromarray(image)
    small = max(picture.size) <= SIDE // 2
    picture.thumbnail((SIDE, SIDE), Image.Resampling.BICUBIC)
    out = io.BytesIO()
    picture.save(out, "WEBP", lossless=small, quality=QUALITY, method=4)
    return "data:image/webp;base64," + base64.b64encode(out.getvalue()).decode()
