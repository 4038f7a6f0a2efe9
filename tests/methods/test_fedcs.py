import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.methods import Budget
from scopefl.methods.class_means import decode, encode, median
from scopefl.methods.fedcs import common_here, contrast, select, summarize


def test_a_client_sends_its_class_means(trained_client):
    means = decode(summarize(trained_client([0, 0, 1], [1, 3, 8], n_classes=3)))
    assert means[:2].tolist() == [[2], [8]]
    assert np.isnan(means[2]).all()


def test_the_median_is_over_the_clients_that_hold_the_class():
    sent = [encode(np.array(rows, np.float32)) for rows in (
        [[1.0], [np.nan]], [[2.0], [5.0]], [[9.0], [7.0]],
    )]  # fmt: skip
    assert decode(median(sent)).tolist() == [[2], [6]]


def test_contrast_is_nearest_other_minus_own(trained_client):
    one = trained_client([0, 1], [[1.0, 0.0], [0.0, 3.0]], n_classes=4)
    nan = np.nan
    centroids = np.array([[0.0, 0.0], [0.0, 4.0], [nan, nan], [1.0, 1.0]], np.float32)
    assert contrast(one, centroids) == pytest.approx([1 - 1, np.sqrt(5) - 1])


def test_common_classes_are_near_the_largest_local_one(trained_client):
    labels = [0] * 2 + [1] * 10 + [2] * 5
    one = trained_client(labels, np.zeros(17), n_classes=4)
    assert common_here(one, 0.5).tolist() == [False, True, True, False]


def test_redundant_first_in_common_classes_then_the_extreme_of_all(trained_client):
    # Centroids 0 and 10; |contrast| of x in class 0 is |10 - 2x| inside, 10 outside.
    one = trained_client([0, 0, 0, 0, 1], [0, 1, 2, 4, 9])
    agreed = encode(np.array([[0.0], [10.0]], np.float32))
    s = select(one, agreed, Budget(p_f=0.5, p_l=0.4, beta=0.5))
    # Class 0 is common: 10, 8, 6, 2: half of 4 goes (rows 0, 1); of 3 left, floor(1.2): row 4 (8).
    assert np.flatnonzero(s.redundant).tolist() == [0, 1]
    assert np.flatnonzero(s.anomalous).tolist() == [4]


def test_equal_contrasts_do_not_collapse(trained_client):
    one = trained_client([0] * 6, [1.0] * 6)
    agreed = encode(np.array([[0.0], [np.nan]], np.float32))
    assert select(one, agreed, Budget(p_f=0.5, p_l=0)).kept.tolist() == [False] * 3 + [True] * 3


def test_a_count_ends_with_the_second_step_at_its_share(trained_client):
    one = trained_client([0] * 20, np.arange(20))
    agreed = encode(np.array([[0.0], [30.0]], np.float32))
    s = select(one, agreed, Budget(p_l=0.1, count=9))
    assert (s.kept.sum(), s.anomalous.sum(), s.redundant.sum()) == (9, 1, 10)


def test_a_centroid_message_cut_short_is_refused():
    message = encode(np.ones((3, 2), np.float32))
    with pytest.raises(ScopeError, match="damaged"):
        decode(message[:-5])
