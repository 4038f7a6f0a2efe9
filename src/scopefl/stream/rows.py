"""From what arrived to rows of the ledger: its class and scores, or the reason for neither."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from scopefl.core.fingerprint import nfc
from scopefl.core.scores import score
from scopefl.data.labels import class_numbers, nearest
from scopefl.data.source import Item
from scopefl.stream.ledger import Row
from scopefl.vision.embedding import Cache, Outcome
from scopefl.vision.fitness import wrong_labels
from scopefl.vision.kit import Kit
from scopefl.vision.scoring import labelled, unit_rows, unreadable

UNKNOWN = "unknown class"
GROUP = 256
"""Images that one change of the state enters, at most."""


def of_a_class(item: Item, classes: Sequence[str]) -> Item:
    """Give an item with its class as the kit spells it, or with the reason why it has none."""
    if item.label is None:
        return labelled(item)
    label = nfc([item.label])[0]
    if label in classes:
        return replace(item, label=label)
    near = nearest(label, classes)
    meant = f", nearest {' or '.join(map(repr, near))}" if near else ""
    return unreadable(item, f"{UNKNOWN} {label!r}{meant}: the kit does not know it")


def in_groups(outcomes: Iterable[Outcome], cache: Cache) -> Iterator[list[Outcome]]:
    """Group outcomes in order, as soon as the embeddings that belong to them are there."""
    waiting: deque[Outcome] = deque()
    group: list[Outcome] = []
    for outcome in outcomes:
        waiting.append(outcome)
        while waiting and (waiting[0].key is None or waiting[0].key in cache.embeddings):
            group.append(waiting.popleft())
            if len(group) == GROUP:
                yield group
                group = []
    while group or waiting:
        group += [waiting.popleft() for _ in range(min(GROUP - len(group), len(waiting)))]
        yield group
        group = []


def rows_of(group: Sequence[Outcome], cache: Cache, kit: Kit) -> list[Row]:
    """Give each outcome's row, scored where it has an embedding."""
    scored = [one for one in group if one.key is not None]
    keys = [one.key for one in scored if one.key is not None]
    labels = class_numbers([one.label for one in scored], kit.classes)
    vectors = unit_rows(cache, keys)
    scores = score(vectors, kit.prototypes, labels)
    wrong = score(vectors, kit.prototypes, wrong_labels(keys, labels, len(kit.classes)))
    numbers = zip(
        keys, labels.tolist(), scores.rs.tolist(), scores.s_neg.tolist(),
        np.asarray(scores.rival).tolist(), (wrong.rs - wrong.s_neg).tolist(), strict=True,
    )  # fmt: skip
    return [_row(one, None if one.key is None else next(numbers), kit.classes) for one in group]


def _row(
    outcome: Outcome,
    numbers: tuple[bytes, int, float, float, int, float] | None,
    classes: Sequence[str],
) -> Row:
    path = None if outcome.path == outcome.id else outcome.path
    if numbers is not None:
        key, label, rs, s_neg, rival, chance = numbers
        return Row(outcome.id, path, label, key, rs, s_neg, rival, chance)
    known = classes.index(outcome.label) if outcome.label in classes else None
    return Row(outcome.id, path, known, reason=outcome.reason)
