import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from scopefl.errors import ScopeError
from scopefl.train import metrics
from scopefl.train.history import History, Round
from scopefl.train.learner import Examples
from scopefl.train.probe import Probe

counts = arrays(np.int64, (4, 5), elements=st.integers(0, 50))


def history(*rows, changed=None):
    """A history of 3 classes with 10 test samples each; None stands for a round not evaluated."""
    rounds = [
        Round(i, (0,), 100, 1.0, row, None if row is None or i == 1 else changed)
        for i, row in enumerate(rows, 1)
    ]
    return History(tuple(rounds), np.array([10, 10, 10]), np.zeros(30, np.int64), [])


HEAD = np.array([True, False, False])


def test_the_final_accuracy_is_the_mean_of_the_last_ten_rounds():
    rows = [(0, 0, 0)] * 3 + [(10, 10, 10)] * 5 + [(10, 5, 0)] * 5
    assert metrics.final_accuracy(history(*rows)) == 0.75
    assert metrics.final_accuracy(history((3, 3, 3), (6, 6, 6)), last=1) == 0.6


def test_the_flip_rate_is_the_mean_of_the_changes_in_the_last_rounds():
    assert metrics.flip_rate(history(*[(1, 1, 1)] * 12, changed=0.25)) == 0.25
    assert math.isnan(metrics.flip_rate(history((1, 1, 1))))


def test_ten_classes_have_three_in_the_head_and_three_in_the_tail():
    thirds = metrics.thirds(np.array([7, 9, 1, 3, 5, 8, 2, 6, 4, 10]))
    assert np.flatnonzero(thirds.head).tolist() == [1, 5, 9]
    assert np.flatnonzero(thirds.tail).tolist() == [2, 3, 6]
    assert (np.stack(thirds).sum(axis=0) == 1).all()


def test_two_classes_are_head_and_tail():
    assert [part.tolist() for part in metrics.thirds(np.array([1, 2]))] == [
        [False, True],
        [False, False],
        [True, False],
    ]
    with pytest.raises(ScopeError, match="at least 2 classes, got 1"):
        metrics.thirds(np.array([3]))


def test_accuracy_of_some_classes_and_its_trend():
    past = history((4, 0, 0), None, (7, 9, 1))
    assert metrics.accuracy_of(HEAD, past) == 0.7
    assert metrics.accuracy_of(~HEAD, past) == 0.5
    assert metrics.trend(HEAD, past, 1, 3) == pytest.approx(0.3)
    with pytest.raises(ScopeError, match=r"round 2 was not evaluated, only \[1, 3\]"):
        metrics.accuracy_of(HEAD, past, 2)


def test_tail_samples_taken_for_the_head_are_counted():
    classes = metrics.thirds(np.array([9, 5, 1]))
    labels, predictions = np.array([2, 2, 2, 2, 0, 1]), np.array([0, 1, 2, 0, 0, 0])
    assert metrics.tail_to_head(predictions, labels, classes) == 0.5


def test_an_empty_class_makes_the_imbalance_infinite():
    assert metrics.imbalance_ratio(np.array([3, 0])) == math.inf


def test_label_distances_by_hand():
    table = np.array([[30, 10, 0], [0, 10, 30], [20, 20, 20]])
    overall = np.array([50, 40, 50]) / 140
    first = np.array([0.75, 0.25, 0])
    assert metrics.total_variation(table)[0] == pytest.approx(np.abs(first - overall).sum() / 2)
    moved = abs(0.75 - 50 / 140) + abs(1 - 90 / 140)
    assert metrics.wasserstein(table)[0] == pytest.approx(moved)
    assert np.isnan(metrics.total_variation(np.array([[1, 1], [0, 0]]))[1])


@given(counts)
def test_label_distances_are_bounded_and_zero_where_all_are_alike(table):
    table = table + 1
    assert ((metrics.total_variation(table) >= 0) & (metrics.total_variation(table) <= 1)).all()
    assert (metrics.wasserstein(table) <= 4 + 1e-9).all()
    alike = np.repeat(table[:1], 3, axis=0)
    np.testing.assert_allclose(metrics.total_variation(alike), 0, atol=1e-12)
    np.testing.assert_allclose(metrics.wasserstein(alike), 0, atol=1e-12)


def test_pruning_the_head_of_an_iid_client_moves_it_away():
    # The case in which Lemma 2 of the paper fails: nothing can be nearer than zero.
    alike = np.array([[80, 10, 10]] * 3)
    pruned = alike.copy()
    pruned[0, 0] = 10
    assert metrics.wasserstein(pruned)[0] > metrics.wasserstein(alike)[0] == 0


PROBE = Probe(1, 2)
ZERO = PROBE.start(np.random.default_rng())


def one(x, y):
    return Examples(np.float32([[x]]), np.array([y]))


def test_heterogeneity_by_hand():
    # At zero the gradient of (x, class 0) is (-x/2, x/2) in w, (-1/2, 1/2) in b; class 1 mirrors.
    clients = [one(2, 0), one(2, 1), Examples(np.zeros((0, 1), np.float32), np.zeros(0, int))]
    assert metrics.heterogeneity(PROBE, ZERO, clients) == pytest.approx(1 + 1 + 0.25 + 0.25)
    assert metrics.heterogeneity(PROBE, ZERO, [one(2, 0), one(2, 0)]) == 0
    # Three samples against one: the gradient of all is half of the first client's.
    three = Examples(np.full((3, 1), 2, np.float32), np.zeros(3, np.int64))
    expected = 2.5 * (0.5**2 + 1.5**2) / 2
    assert metrics.heterogeneity(PROBE, ZERO, [three, one(2, 1)]) == pytest.approx(expected)


def test_gradient_bias_by_hand():
    data = Examples(np.full((4, 1), 2, np.float32), np.array([0, 0, 0, 1]))
    clean = np.array([True, True, True, False])
    bias = metrics.gradient_bias(PROBE, ZERO, data, clean, kept=np.array([True, False, True, True]))
    # The wrong label turns the gradient round: its share p moves the mean by 2p of its length.
    length = np.sqrt(2.5)
    assert bias.raw == pytest.approx(2 / 4 * length)
    assert bias.kept == pytest.approx(2 / 3 * length)
    assert metrics.gradient_bias(PROBE, ZERO, data, clean, clean).kept == 0


def test_a_bias_without_clean_or_kept_samples_is_refused():
    data = one(1, 0)
    with pytest.raises(ScopeError, match="one clean and one kept"):
        metrics.gradient_bias(PROBE, ZERO, data, np.array([False]), np.array([True]))


def test_a_filter_that_drops_nothing_has_no_precision():
    quality = metrics.filter_quality(np.zeros(3, bool), np.array([True, False, False]))
    assert math.isnan(quality.precision)
    assert quality.recall == 0
    assert math.isnan(metrics.filter_quality(np.ones(2, bool), np.zeros(2, bool)).recall)
