import numpy as np
import pytest

from scopefl.methods import METHODS, Budget
from scopefl.methods.moderate import distances


def test_the_centre_is_the_median_not_the_mean(trained_client):
    one = trained_client([0, 0, 0, 1], [0, 1, 100, 7])
    assert distances(one) == pytest.approx([1, 0, 99, 0])


def test_the_middle_of_all_classes_together_stays(trained_client):
    # Distances: class 0 (median 2) 2 1 0 1 2, class 1 (median 20) 10 0 10.
    one = trained_client([0] * 5 + [1] * 3, [0, 1, 2, 3, 4, 10, 20, 30])
    # Sorted: 0 (row 2), 0 (6), 1 (1), 1 (3), 2 (0), 2 (4), 10, 10: the middle four.
    kept = METHODS["moderate"].select(one, b"", Budget(count=4)).kept
    assert np.flatnonzero(kept).tolist() == [0, 1, 3, 4]


def test_natively_the_middle_share_stays(trained_client):
    one = trained_client([0] * 10, np.arange(10))
    assert METHODS["moderate"].select(one, b"", Budget(p_f=0.4)).kept.sum() == 6
