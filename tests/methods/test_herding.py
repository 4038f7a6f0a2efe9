import numpy as np

from scopefl.methods import METHODS, Budget
from scopefl.methods.herding import herd


def test_herding_follows_the_mean():
    # Mean 3: first 2; then 6 - 2 = 4, nearest of 0, 1, 9 is 1; then 9 - 3 = 6, nearest is 9.
    assert herd(np.array([[0.0], [1.0], [2.0], [9.0]]), 4) == [2, 1, 3, 0]


def test_the_farthest_is_the_opposite_choice():
    # Mean 3: farthest of 0, 1, 2, 9 is 9; then 6 - 9 = -3, farthest is 2; then -2, farthest is 1.
    assert herd(np.array([[0.0], [1.0], [2.0], [9.0]]), 3, farthest=True) == [3, 2, 1]


def test_herding_agrees_with_the_definition_step_by_step():
    features = np.random.default_rng(0).normal(size=(12, 3))
    chosen = []
    for step in range(7):
        target = (step + 1) * features.mean(axis=0) - features[chosen].sum(axis=0)
        gap = np.linalg.norm(target - features, axis=1)
        gap[chosen] = np.inf
        chosen.append(int(gap.argmin()))
    assert herd(features, 7) == chosen


def test_each_class_is_herded_on_its_own(trained_client):
    one = trained_client([0, 0, 0, 1, 1, 1], [0, 1, 5, 100, 103, 104])
    # Means 2 and 102.33: nearest are 1 and 103.
    kept = METHODS["herding"].select(one, b"", Budget(count=2)).kept
    assert np.flatnonzero(kept).tolist() == [1, 4]
