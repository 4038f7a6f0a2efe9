import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl import Scores
from scopefl.core.scores import score
from scopefl.vision.fitness import Fitness, auc, fitness, wrong_labels
from scopefl.vision.prototypes import Centroids, against_means
from tests.clouds import cloud


def keys_of(n):
    return [np.random.default_rng(i).bytes(32) for i in range(n)]


def judged(labels, images, prototypes):
    n_classes = len(prototypes)
    classes = tuple(f"class {c}" for c in range(n_classes))
    wrong = wrong_labels(keys_of(len(labels)), labels, n_classes)
    scores, chance = (score(images, prototypes, asked) for asked in (labels, wrong))
    return fitness(scores, labels, chance, wrong, classes)


def test_classes_that_stand_apart_are_read_well():
    images, prototypes, labels = cloud(n=600, spread=0.1)
    found = judged(labels, images, prototypes)
    assert found.verdict == "well"
    assert found.auc > 0.99
    assert found.recall > 0.95
    assert "reads your classes well" in found.sentence


def test_shuffled_labels_are_read_not_at_all():
    images, prototypes, labels = cloud(n=600, spread=0.1)
    found = judged(np.random.default_rng(0).permutation(labels), images, prototypes)
    assert found.verdict == "not at all"
    assert abs(found.auc - 0.5) < 0.1
    assert "hardly told from chance" in found.sentence


def test_half_shuffled_labels_are_read_weakly():
    images, prototypes, labels = cloud(n=900, spread=0.1)
    mixed = labels.copy()
    mixed[:400] = np.random.default_rng(0).permutation(mixed[:400])
    assert judged(mixed, images, prototypes).verdict == "weakly"


def test_the_auc_is_that_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(0)
    high, low = rng.normal(0.5, 1, 200).round(1), rng.normal(0, 1, 300).round(1)
    truth = np.r_[np.ones(200), np.zeros(300)]
    exact = metrics.roc_auc_score(truth, np.r_[high, low])
    assert auc(high, low) == pytest.approx(exact, abs=1e-12)


@given(
    st.lists(st.integers(-3, 3), min_size=1, max_size=20),
    st.lists(st.integers(-3, 3), min_size=1, max_size=20),
)
def test_the_auc_counts_pairs(high, low):
    pairs = [(a > b) + (a == b) / 2 for a in high for b in low]
    assert auc(np.array(high, float), np.array(low, float)) == pytest.approx(np.mean(pairs))


@given(st.integers(2, 9), st.data())
def test_a_wrong_label_is_another_class_and_depends_on_the_content_alone(n_classes, data):
    labels = np.array(data.draw(st.lists(st.integers(0, n_classes - 1), min_size=1, max_size=30)))
    keys = keys_of(len(labels))
    wrong = wrong_labels(keys, labels, n_classes)
    assert ((wrong >= 0) & (wrong < n_classes) & (wrong != labels)).all()
    back = wrong_labels(keys[::-1], labels[::-1], n_classes)[::-1]
    np.testing.assert_array_equal(back, wrong)


def test_wrong_labels_are_spread_over_all_other_classes():
    wrong = wrong_labels(keys_of(900), np.zeros(900, np.int64), 4)
    assert np.bincount(wrong, minlength=4)[1:].min() > 250


def test_a_class_is_summed_up_by_hand():
    labels = np.array([0, 0, 0, 1])
    rs = np.array([0.9, 0.2, 0.3, 0.8], np.float32)
    s_neg = np.array([0.1, 0.6, 0.4, 0.1], np.float32)
    scores = Scores(rs, rs, s_neg, np.array([1, 2, 2, 0], np.int32))
    wrong = np.array([1, 1, 1, 0])
    chance = Scores(s_neg, s_neg, rs, np.array([0, 0, 0, 1], np.int32))
    first, second, third = fitness(scores, labels, chance, wrong, ("a", "b", "c")).classes
    assert (first.name, first.samples) == ("a", 3)
    assert first.recall == pytest.approx(1 / 3, abs=1e-4)
    assert first.margin == pytest.approx((0.8 - 0.4 - 0.1) / 3, abs=1e-4)
    assert first.confused_with == "c"
    assert first.auc == 1.0
    assert second.confused_with is None
    assert (third.samples, third.recall, third.margin, third.auc) == (0, None, None, None)


def test_where_nothing_was_scored_the_verdict_is_unknown():
    nothing = np.zeros(0, np.int64)
    none = Scores.concatenated([])
    for found in (Fitness((), None, None), fitness(none, nothing, none, nothing, ("a", "b"))):
        assert found.verdict == "unknown"
        assert "no image was scored" in found.sentence


@pytest.mark.parametrize(("spread", "verdict"), [(0.1, "well"), (50.0, "not at all")])
def test_a_site_of_one_class_has_a_verdict_as_well(spread, verdict):
    images, prototypes, labels = cloud(n=2000, spread=spread)
    mine = labels == 3
    found = judged(labels[mine], images[mine], prototypes)
    assert found.classes[3].auc is None
    assert found.verdict == verdict


def test_settings_are_plain_values():
    import json

    images, prototypes, labels = cloud(n=60)
    found = judged(labels, images, prototypes)
    read = json.loads(json.dumps(found.settings))
    assert read["verdict"] == found.verdict
    assert len(read["classes"]) == 7
    assert read["classes"][0]["name"] == "class 0"


def judged_by_means(labels, images, n_classes):
    classes = tuple(f"class {c}" for c in range(n_classes))
    means = Centroids.of(images, labels, n_classes)
    wrong = wrong_labels(keys_of(len(labels)), labels, n_classes)
    scores, chance = (against_means(images, labels, asked, means) for asked in (labels, wrong))
    return fitness(scores, labels, chance, wrong, classes)


@pytest.mark.parametrize("seed", range(3))
def test_class_means_of_shuffled_labels_are_no_better_than_chance(seed):
    images, _, labels = cloud(n=600, spread=0.1, seed=seed)
    assert judged_by_means(labels, images, 7).verdict == "well"
    shuffled = np.random.default_rng(seed).permutation(labels)
    found = judged_by_means(shuffled, images, 7)
    assert found.verdict == "not at all"
    assert abs(found.auc - 0.5) < 0.1
