import numpy as np
import pytest

from scopefl.methods import METHODS, Budget
from scopefl.methods.zcore import votes


def test_the_nearest_gains_one_and_its_neighbours_lose_one_by_distance():
    x = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
    # Row 0 is hit; distances 1 and 2 share 1 by d^-4: 16/17 and 1/17.
    score = votes(x, np.array([[0, 1]]), np.array([[0.0, 0.0]]))
    assert score == pytest.approx([1, -16 / 17, -1 / 17])


def test_a_twin_loses_all_and_nobody_else_anything():
    x = np.array([[0.0, 0.0], [0.0, 0.0], [2.0, 0.0]])
    assert votes(x, np.array([[0, 1]]), np.zeros((1, 2))).tolist() == [1, -1, 0]


def test_votes_of_several_points_add_up():
    rng = np.random.default_rng(0)
    x, points = rng.random((9, 4)), rng.random((5, 2))
    planes = np.array([[0, 1], [2, 3], [1, 3], [0, 2], [3, 0]])
    one_by_one = sum(votes(x, planes[i : i + 1], points[i : i + 1]) for i in range(5))
    assert votes(x, planes, points) == pytest.approx(one_by_one)


def test_a_crowd_of_twins_is_thinned_first(trained_client):
    rng = np.random.default_rng(0)
    spread = rng.normal(size=(30, 4))
    one = trained_client([0] * 60, np.concatenate([spread, np.repeat(spread[:1], 30, axis=0)]))
    kept = METHODS["zcore"].select(one, b"", Budget(count=30)).kept
    assert kept[1:30].sum() > 20  # at random, 15 on average
