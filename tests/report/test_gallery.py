import base64
import io
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from scopefl.federation.by_file import Rule
from scopefl.report.collection import collect
from scopefl.report.gallery import galleries, thumbnail, twin
from scopefl.report.words import balance, learned, reason, revealed, selected


@pytest.fixture(scope="module")
def joined(played: Any) -> Any:
    return collect(played(600, clients=2).sites)


def test_the_worst_anomalies_come_first(joined: Any):
    anomalies = galleries(joined)[0].cards
    scores = [float(joined.anomaly[card.row]) for card in anomalies if not card.extra]
    assert scores == sorted(scores, reverse=True)
    assert len(scores) == 12
    assert scores[0] == joined.anomaly[joined.fate == 1].max()
    assert all(joined.fate[card.row] == 1 for card in anomalies)


def test_a_glance_shows_as_many_classes_as_it_can(joined: Any):
    pictured = replace(joined, pixels=(lambda *_: np.zeros((8, 8, 3), np.uint8),) * 2)
    gallery = galleries(pictured)[0]
    glance = [int(joined.label[card.row]) for card in gallery.at_a_glance(joined.label)]
    there = {int(joined.label[card.row]) for card in gallery.cards}
    assert len(glance) == 5
    assert len(set(glance)) == min(5, len(there))
    assert gallery.at_a_glance(joined.label)[0] == gallery.cards[0]
    assert galleries(joined)[0].at_a_glance(joined.label) == []


def test_every_class_that_has_anomalies_shows_some(joined: Any):
    shown = {int(joined.label[card.row]) for card in galleries(joined)[0].cards}
    assert shown == set(joined.label[joined.fate == 1].tolist())


def test_a_redundant_image_stands_beside_its_nearest_kept_one(joined: Any):
    card = galleries(joined)[1].cards[0]
    row, other = card.row, card.twin.row
    mates = np.flatnonzero(
        (joined.fate == 0)
        & (joined.label == joined.label[row])
        & (joined.client == joined.client[row])
    )
    assert joined.fate[row] == 2
    assert other in mates
    cosines = joined.embeddings[mates] @ joined.embeddings[row]
    assert other == mates[cosines.argmax()]
    assert card.twin_note == f"cosine {cosines.max():.3f}"


def test_without_embeddings_the_twin_is_the_nearest_by_scores(joined: Any):
    row = int(np.flatnonzero(joined.fate == 2)[0])
    other, note = twin(replace(joined, embeddings=None), row)
    mates = (joined.fate == 0) & (joined.label == joined.label[row])
    mates &= joined.client == joined.client[row]
    apart = np.hypot(joined.rs - joined.rs[row], joined.s_neg - joined.s_neg[row])
    assert apart[other] == apart[mates].min()
    assert "by scores" in note


def test_the_borderline_gallery_shows_kept_images_only_and_none_twice(joined: Any):
    rows = [card.row for card in galleries(joined)[2].cards]
    assert (joined.fate[rows] == 0).all()
    assert len(set(rows)) == len(rows)
    assert joined.anomaly[rows[0]] == joined.anomaly[joined.fate == 0].max()


def test_an_image_that_is_not_found_has_no_thumbnail(joined: Any):
    assert galleries(joined)[0].cards[0].thumbnail is None


def test_a_thumbnail_keeps_small_images_exactly_and_shrinks_large_ones():
    small = np.random.default_rng(0).integers(0, 255, (32, 24, 3), np.uint8)
    assert np.array_equal(decoded(thumbnail(small)), small)
    large = decoded(thumbnail(np.zeros((400, 200, 3), np.uint8)))
    assert large.shape == (96, 48, 3)


def decoded(uri: str) -> Any:
    data = base64.b64decode(uri.removeprefix("data:image/webp;base64,"))
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


def test_reasons_name_the_classes_and_the_scores(joined: Any):
    over = np.flatnonzero((joined.fate == 1) & (joined.s_neg > joined.rs))[0]
    label, rival = joined.classes[joined.label[over]], joined.classes[joined.rival[over]]
    assert reason(joined, over) == (
        f"Labelled {label}, but it looks more like {rival}: "
        f"S_neg {joined.s_neg[over]:.3f} is above RS {joined.rs[over]:.3f}."
    )
    redundant = np.flatnonzero(joined.fate == 2)[0]
    assert joined.classes[joined.label[redundant]] in reason(joined, redundant)


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (Rule(p_l="0.2", p_f="0.7"), "paper's rule: the most anomalous 20\N{NO-BREAK SPACE}% of a"),
        (Rule(keep="0.4", p_l="auto"), "to keep 40\N{NO-BREAK SPACE}% of all sites' images"),
    ],
)
def test_the_rule_is_said_in_words(rule: Rule, said: str):
    assert said in selected([rule.settings, rule.settings])
    assert "did not all select" in selected([rule.settings, Rule(p_f="0.1").settings])


def test_one_to_three_images_are_said_to_be_exposed():
    assert [("exactly" in revealed(n)) or ("solving" in revealed(n)) for n in range(5)] == [
        False,
        True,
        True,
        True,
        False,
    ]


def test_what_a_policy_tells_depends_on_how_many_took_part():
    assert "exactly" in learned(2)
    assert "other 4" in learned(5)
    assert "own profile" in learned(1)


def test_an_emptied_class_is_said_in_words():
    assert balance(10, float("inf")).endswith("now one class is left empty.")
