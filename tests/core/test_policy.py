import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl import FingerprintError, Profile, ScopeError, Scores, agree, consensus
from scopefl.core.policy import Agreement
from tests import naive
from tests.clouds import scored


def counted(*count):
    n = np.array(count)
    squares = np.stack([0 * n, n * 2**20, 0 * n])
    return Profile(n, np.stack([0 * n, n * 2**20, 0 * n]), squares)


def test_rarity_weights_worked_by_hand():
    assert np.allclose(consensus(counted(6, 3, 1)).weight, [1 / 3, 2 / 3, 2], atol=1e-9)
    assert np.allclose(consensus(counted(4, 1), gamma=0.5).weight, [2 / 3, 4 / 3], atol=1e-9)


def test_gamma_zero_weighs_all_present_classes_alike_and_absent_ones_not_at_all():
    assert consensus(counted(5, 0, 9), gamma=0).weight.tolist() == [1, 0, 1]


def test_the_law_of_total_variance_worked_by_hand():
    # One client holds 0.25 and 0.75, the other 0.5 and 0.5: pooled mean 0.5, variance 0.03125.
    first, second = (np.float32([0.25, 0.75]), np.float32([0.5, 0.5]))
    clients = [
        Profile.of(Scores(x, np.sqrt(1 - x**2), x), np.array([0, 0]), 2) for x in (first, second)
    ]
    omega = consensus(clients[0] + clients[1])
    assert np.allclose(omega.mean[0], [0.5, 0])
    assert np.allclose(omega.sigma[0] ** 2, [0.03125, 0], atol=2e-6)


@given(scored(), st.sampled_from([0, 0.5, 1, 2]))
def test_equals_the_naive_consensus(collection, gamma):
    s, labels, n_classes = collection
    profile = Profile.of(s, labels, n_classes)
    if len(s):
        fast, slow = consensus(profile, gamma), naive.policy(profile, gamma)
        assert np.array_equal(fast.mean, slow.mean)
        assert np.array_equal(fast.sigma, slow.sigma)
        assert np.allclose(fast.weight, slow.weight, rtol=1e-13)


def test_nobody_at_all_gives_a_policy_of_absent_classes():
    assert consensus(Profile.empty(3)).weight.tolist() == [0, 0, 0]


@pytest.mark.parametrize("gamma", [-1, np.nan, np.inf])
def test_a_gamma_that_is_no_exponent_is_refused(gamma):
    with pytest.raises(ScopeError, match="gamma must be a number of at least 0"):
        consensus(Profile.empty(2), gamma)


def test_an_agreement_counts_the_sites_behind_each_class_and_survives_the_wire():
    messages = [counted(*n).to_bytes(b"abcdefgh") for n in ((3, 0, 0), (2, 5, 0), (1, 0, 0))]
    agreement = agree(messages, expected=4, gamma=0.5)
    assert agreement.holders.tolist() == [3, 1, 0]
    again = Agreement.from_bytes(agreement.to_bytes())
    assert again.profile == agreement.profile
    assert again.holders.tolist() == [3, 1, 0]
    assert (again.sites, again.expected, again.gamma, again.fingerprint) == (3, 4, 0.5, b"abcdefgh")
    assert np.array_equal(again.policy.weight, consensus(agreement.profile, 0.5).weight)


@given(st.lists(scored(max_classes=3), min_size=1, max_size=5), st.randoms())
def test_the_order_of_the_sites_changes_no_bit_of_the_policy(collections, random):
    messages = [Profile.of(s, labels % 2, 2).to_bytes() for s, labels, _ in collections]
    shuffled = random.sample(messages, len(messages))
    assert agree(messages).to_bytes() == agree(shuffled).to_bytes()


def test_kits_and_class_lists_do_not_mix():
    a, b = counted(1, 2), counted(1, 2, 3)
    with pytest.raises(FingerprintError, match="profile 1 and profile 2 .* different kits"):
        agree([a.to_bytes(b"classes1"), a.to_bytes(b"classes2")])
    with pytest.raises(FingerprintError, match="different class lists"):
        agree([a.to_bytes(b"classes1"), a.to_bytes(b"others 1")])
    with pytest.raises(FingerprintError, match="2 classes in north and 3 in south"):
        agree([a.to_bytes(), b.to_bytes()], names=["north", "south"])


def test_no_profiles_and_a_broken_one_are_named():
    with pytest.raises(ScopeError, match="at least one profile"):
        agree([])
    with pytest.raises(ScopeError, match="south: this is not a profile"):
        agree([counted(1).to_bytes(), b"junk"], names=["north", "south"])


@pytest.mark.parametrize("change", [{"sites": 0}, {"holders": np.array([9, 0])}])
def test_a_policy_that_counts_wrongly_is_refused(change):
    agreement = agree([counted(1, 0).to_bytes()])
    wrong = Agreement(**{**vars(agreement), **change})
    with pytest.raises(ScopeError, match="merge again|limit"):
        Agreement.from_bytes(wrong.to_bytes())
