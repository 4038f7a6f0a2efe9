import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl import Policy, Profile, ScopeError, Scores, consensus
from scopefl.stream.signs import BINS, Signs
from tests.clouds import scored


def equal(a, b):
    counts = ("nearest", "strange", "margins")
    same = all(np.array_equal(getattr(a, name), getattr(b, name)) for name in counts)
    return same and a.profile == b.profile


@settings(deadline=None)
@given(scored(), st.integers(0, 40))
def test_signs_of_parts_add_up_to_those_of_the_whole_and_come_out_again(collection, cut):
    scores, labels, n_classes = collection
    policy = consensus(Profile.of(scores, labels, n_classes))
    earlier = Signs.of(scores[:cut], labels[:cut], policy)
    recent = Signs.of(scores[cut:], labels[cut:], policy)
    whole = Signs.of(scores, labels, policy)
    assert equal(whole, earlier + recent)
    assert equal(whole - recent, earlier)
    assert equal(whole + Signs.empty(n_classes), whole)


def test_signs_worked_by_hand():
    mean = np.array([[0.5, 0.3, 0], [0, 0, 0], [0.25, 0.05, 0]])
    sigma = np.array([[0.0625, 0.01, 0], [0, 0, 0], [0, 0, 0]])
    policy = Policy(np.ones(3), mean, sigma)
    # Typical; nearer to its rival, far from typical there; of a class that is absent from the
    # policy; three sigmas below typical and no further.
    rs = np.array([0.5, 0.1, 0.1, 0.3125])
    s_neg = np.array([0.25, 0.2, 0.0, 0.0])
    scores = Scores(rs, np.sqrt(1 - rs**2), s_neg, np.array([1, 1, 0, 1]))
    signs = Signs.of(scores, np.array([0, 0, 2, 0]), policy)
    assert signs.nearest.tolist() == [2, 1, 1]
    assert signs.strange.tolist() == [0, 1, 0]
    # Margins 0.25, -0.1 and 0.3125 lie 0, -5.6 and 1 deviations from 0.25, in bins of a quarter.
    assert np.flatnonzero(signs.margins[0]).tolist() == [0, BINS // 2, BINS // 2 + 4]
    assert signs.margins.sum(axis=1).tolist() == [3, 0, 1]


def test_a_class_takes_less_than_a_kilobyte():
    signs = Signs.empty(1)
    arrays = (*signs.profile.arrays, signs.nearest, signs.strange, signs.margins)
    assert sum(array.nbytes for array in arrays) == 328


def test_scores_without_rivals_are_refused():
    scores = Scores(np.ones(1), np.zeros(1), np.zeros(1))
    with pytest.raises(ScopeError, match="must come with their rivals"):
        Signs.of(scores, np.array([0]), consensus(Profile.empty(2)))
