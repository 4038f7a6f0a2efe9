import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl import Profile, ScopeError, Scores
from tests import naive
from tests.clouds import scored


@given(scored())
def test_equals_the_naive_sums(collection):
    s, labels, n_classes = collection
    assert Profile.of(s, labels, n_classes) == naive.profile(s, labels, n_classes)


@given(scored(), st.data())
def test_merge_of_any_partition_is_the_profile_of_the_union(collection, data):
    s, labels, n_classes = collection
    client = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(s), max_size=len(s))))
    parts = [
        Profile.of(s[client == k], labels[client == k], n_classes)
        for k in data.draw(st.permutations(range(4)))
        if len(s)
    ]
    assert sum(parts, Profile.empty(n_classes)) == Profile.of(s, labels, n_classes)


@given(scored(), st.integers(0, 40))
def test_what_is_added_can_be_taken_out_again(collection, cut):
    s, labels, n_classes = collection
    a = Profile.of(s[:cut], labels[:cut], n_classes)
    b = Profile.of(s[cut:], labels[cut:], n_classes)
    assert a + b - b == a
    assert a + b == b + a


@given(scored())
def test_a_real_profile_passes_its_own_check(collection):
    s, labels, n_classes = collection
    Profile.of(s, labels, n_classes).check()


@given(scored())
def test_mean_and_sigma_are_those_of_numpy(collection):
    s, labels, n_classes = collection
    profile = Profile.of(s, labels, n_classes)
    for m, metric in enumerate((s.rs, s.ds, s.s_neg)):
        for c in range(n_classes):
            x = metric[labels == c].astype(float)
            if len(x):
                assert abs(profile.mean[m, c] - x.mean()) < 1e-6
                assert abs(profile.sigma[m, c] ** 2 - x.var()) < 3e-6


def test_many_chunks_add_up_like_one():
    rng = np.random.default_rng(0)
    n = 600_000
    rs = rng.uniform(-1, 1, n).astype(np.float32)
    s = Scores(rs, np.sqrt(1 - rs.astype(float) ** 2), rs[::-1])
    labels = rng.integers(0, 3, n)
    halves = [Profile.of(s[rows], labels[rows], 3) for rows in (slice(0, 123), slice(123, None))]
    assert halves[0] + halves[1] == Profile.of(s, labels, 3)


def test_one_sample_and_equal_scores_have_no_spread():
    s = Scores(np.full(5, 0.3), np.full(5, np.sqrt(1 - 0.09)), np.full(5, 0.1))
    profile = Profile.of(s, np.array([0, 1, 1, 1, 1]), 2)
    assert profile.sigma.tolist() == [[0, 0]] * 3


def test_a_cosine_a_hair_above_one_counts_as_one():
    s = Scores(np.float32([1.0000005]), np.float32([0]), np.float32([0]))
    assert Profile.of(s, np.array([0]), 2).sums[0, 0] == 2**20


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.1, -1.1])
def test_impossible_scores_are_refused(value):
    s = Scores(np.array([0.0, value]), np.array([1.0, 1.0]), np.zeros(2))
    with pytest.raises(ScopeError, match="rs must be a number between -1 and 1, got .* at row 1"):
        Profile.of(s, np.array([0, 0]), 2)


def test_profiles_of_other_class_lists_do_not_add():
    with pytest.raises(ScopeError, match="same class list, got 2 and 3 classes"):
        Profile.empty(2) + Profile.empty(3)


def test_what_is_not_in_a_profile_cannot_be_taken_out():
    one = Profile.of(Scores(*np.float32([[0], [1], [0]])), np.array([0]), 2)
    with pytest.raises(ScopeError, match="class 0 holds 0 and 1 are to go"):
        Profile.empty(2) - one
