import math
from dataclasses import replace

import numpy as np
import pytest

from scopefl.methods import METHODS, Budget
from scopefl.methods.trained import count_forgotten, el2n, forgetting, grand


def test_el2n_is_the_length_of_the_error_vector(trained_client):
    # Logits 0, 0 give 1/2, 1/2; logits ln 3, 0 give 3/4, 1/4.
    one = trained_client([0, 0, 1], [[0], [0], [0]], [[0, 0], [math.log(3), 0], [math.log(3), 0]])
    assert el2n(one) == pytest.approx([math.sqrt(1 / 2), math.sqrt(2) / 4, math.sqrt(2) * 3 / 4])


def test_el2n_keeps_the_highest(trained_client):
    one = trained_client([0, 0, 1], [[0], [0], [0]], [[0, 0], [9, 0], [9, 0]])
    assert METHODS["el2n"].select(one, b"", Budget(count=2)).kept.tolist() == [True, False, True]


def test_grand_is_the_norm_of_the_outer_product(trained_client):
    features = np.array([[1.0, 2.0], [0.5, -1.0], [3.0, 0.0]])
    logits = np.array([[0.1, 0.7], [-1.0, 2.0], [0.0, 0.0]])
    one = trained_client([0, 1, 1], features, logits)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    error = p - np.eye(2)[[0, 1, 1]]
    weights_and_bias = [np.outer(e, [1, *f]) for e, f in zip(error, features, strict=True)]
    assert grand(one) == pytest.approx([np.linalg.norm(g) for g in weights_and_bias], rel=1e-6)


def test_scores_are_the_mean_over_repeats_of_the_warm_up(trained_client):
    one = trained_client([0], [[0.0]], [[0, 0]])
    other = trained_client([0], [[0.0]], [[math.log(3), 0]])
    both = replace(one, warm=(*one.warm, *other.warm))
    assert el2n(both) == pytest.approx((el2n(one) + el2n(other)) / 2)


def test_forgotten_counts_falls_and_never_learned_counts_most():
    right = np.array([[0, 1, 1, 0], [0, 0, 1, 1], [0, 1, 1, 0], [0, 0, 1, 0]], bool)
    assert count_forgotten(right).tolist() == [4, 2, 0, 1]


def test_forgetting_keeps_the_most_forgotten_and_the_lowest_id_of_equals(trained_client):
    one = trained_client([0] * 4, [[0]] * 4, forgotten=np.array([1, 3, 1, 0]))
    assert forgetting(one).tolist() == [1, 3, 1, 0]
    kept = METHODS["forgetting"].select(one, b"", Budget(count=2)).kept
    assert kept.tolist() == [True, True, False, False]


def test_logits_too_large_for_exp_are_no_trouble(trained_client):
    one = trained_client([0], [[0]], [[-5000.0, 5000.0]])
    assert el2n(one) == pytest.approx([math.sqrt(2)])
