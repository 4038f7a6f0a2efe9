import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl import (
    Policy,
    Profile,
    ScopeError,
    Scores,
    anomaly,
    clipped_z,
    consensus,
    redundancy,
    select,
    target_classes,
)
from tests import naive
from tests.clouds import scored

RATES = st.sampled_from([0, 0.1, 0.25, "0.3", 0.5, 0.7, 0.9, 0.99])
BETAS = st.sampled_from([0, 0.2, 0.5, 0.9, 1.0])


def three(rs, ds, s_neg):
    return Scores(*(np.array([x], float) for x in (rs, ds, s_neg)))


FLAT = Policy(np.ones(1), np.array([[0.5], [0.8], [0.2]]), np.array([[0.1], [0.2], [0.05]]))


def test_clipped_z_anomaly_and_redundancy_worked_by_hand():
    z = clipped_z(three(0.4, 1.0, 0.25), np.array([0]), FLAT)  # z = -1, 1, 1
    assert np.allclose([z.rs, z.ds, z.s_neg], [[2 / 6], [4 / 6], [4 / 6]])
    assert np.allclose(anomaly(z), 2 / 6)
    assert np.allclose(redundancy(z), 2 / 6 - 4 / 6 - 4 / 6)


def test_beyond_three_sigma_is_clipped_and_no_sigma_is_one_half():
    flat = Policy(FLAT.weight, FLAT.mean, FLAT.sigma * [[1], [1], [0]])
    z = clipped_z(three(0.9, 0.1, 0.7), np.array([0]), flat)
    assert (z.rs[0], z.ds[0], z.s_neg[0]) == (1, 0, 0.5)


def weighted(*weight):
    return Policy(np.array(weight), np.zeros((3, len(weight))), np.zeros((3, len(weight))))


def test_target_classes_worked_by_hand():
    # f = .5 .3 .2 and W = 1 1 2 give T = .5 .3 .1: distances from the top 0, .4, .8.
    labels = np.repeat([0, 1, 2], [5, 3, 2])
    assert target_classes(labels, weighted(1, 1, 2), 0.5).tolist() == [True, True, False]
    assert target_classes(labels, weighted(1, 1, 2), 0.3).tolist() == [True, False, False]


def test_beta_on_the_boundary_is_a_target_and_absent_classes_never_are():
    labels = np.repeat([0, 1], [2, 1])
    assert target_classes(labels, weighted(1, 1, 1), 0.5).tolist() == [True, True, False]
    assert target_classes(labels, weighted(0, 1, 1), 0.0).tolist() == [False, True, False]
    assert target_classes(labels[:0], weighted(1, 1, 1), 1.0).tolist() == [False] * 3


@given(scored(), RATES, RATES, BETAS, st.sampled_from([0, 1, 2]), st.randoms())
def test_equals_the_naive_selection_bit_for_bit(collection, p_l, p_f, beta, gamma, random):
    s, labels, n_classes = collection
    omega = consensus(Profile.of(s, labels, n_classes), gamma)
    ids = random.sample(range(1000), len(s))
    fast = select(s, labels, omega, p_l=p_l, p_f=p_f, beta=beta, ids=ids)
    slow = naive.select(s, labels, omega, p_l, p_f, beta, ids)
    for fate in ("kept", "anomalous", "redundant"):
        assert np.array_equal(getattr(fast, fate), getattr(slow, fate))


@given(scored(), RATES | st.just("auto"), RATES, BETAS, st.randoms())
def test_the_order_of_the_samples_changes_no_fate(collection, p_l, p_f, beta, random):
    s, labels, n_classes = collection
    omega = consensus(Profile.of(s, labels, n_classes))
    ids = np.array([f"image {i}" for i in range(len(s))])
    order = np.array(random.sample(range(len(s)), len(s)), int)
    whole = select(s, labels, omega, p_l=p_l, p_f=p_f, beta=beta, ids=ids)
    moved = select(s[order], labels[order], omega, p_l=p_l, p_f=p_f, beta=beta, ids=ids[order])
    assert np.array_equal(moved.kept, whole.kept[order])
    assert np.array_equal(moved.anomalous, whole.anomalous[order])


@given(scored(), st.data())
def test_renumbering_the_classes_changes_no_fate(collection, data):
    s, labels, n_classes = collection
    number = np.array(data.draw(st.permutations(range(n_classes))))
    t = Scores(s.rs, s.ds, s.s_neg, number[s.rival].astype(np.int32))
    for p_l in (0.3, "auto"):
        here = select(s, labels, consensus(Profile.of(s, labels, n_classes)), p_l=p_l)
        there = select(
            t, number[labels], consensus(Profile.of(t, number[labels], n_classes)), p_l=p_l
        )
        assert np.array_equal(here.kept, there.kept)


@given(scored(), RATES | st.just("auto"), RATES, BETAS)
def test_every_sample_has_exactly_one_fate(collection, p_l, p_f, beta):
    s, labels, n_classes = collection
    omega = consensus(Profile.of(s, labels, n_classes))
    fates = select(s, labels, omega, p_l=p_l, p_f=p_f, beta=beta)
    assert np.array_equal(
        fates.kept.astype(int) + fates.anomalous + fates.redundant, np.ones(len(s))
    )


@given(scored(), BETAS, BETAS)
def test_a_larger_beta_only_adds_target_classes(collection, beta, other):
    s, labels, n_classes = collection
    omega = consensus(Profile.of(s, labels, n_classes))
    few, many = (target_classes(labels, omega, b) for b in sorted((beta, other)))
    assert not (few & ~many).any()


@given(scored(), BETAS, st.integers(-8, 8))
def test_the_scale_of_the_weights_is_immaterial(collection, beta, power):
    s, labels, n_classes = collection
    omega = consensus(Profile.of(s, labels, n_classes))
    scaled = Policy(omega.weight * 2.0**power, omega.mean, omega.sigma)
    assert np.array_equal(target_classes(labels, omega, beta), target_classes(labels, scaled, beta))


def test_a_policy_of_the_clients_own_profile_is_the_ablation_without_federation():
    s = Scores(np.float32([0.9, 0.5, 0.1]), np.zeros(3), np.float32([0.1, 0.5, 0.9]))
    own = consensus(Profile.of(Scores(s.rs, np.sqrt(1 - s.rs**2), s.s_neg), np.zeros(3, int), 2))
    assert select(s, np.zeros(3, int), own, p_l=0.34, p_f=0).anomalous.tolist() == [0, 0, 1]


def test_seven_tenths_of_ninety_is_sixty_three():
    s = Scores(np.linspace(-0.5, 0.5, 90), np.zeros(90), np.zeros(90))
    labels = np.zeros(90, int)
    assert select(s, labels, weighted(1, 0), p_l=0.7, p_f=0).anomalous.sum() == 63


def test_no_samples_have_no_fates():
    nothing = Scores(*[np.zeros(0, np.float32)] * 3)
    assert len(select(nothing, np.zeros(0, int), weighted(1, 1)).kept) == 0


def typical_and_stray():
    """Class 0 near 0.6 and class 1 near 0.3 of RS, and a stray of label 0 that looks like 1."""
    rs = np.concatenate([np.linspace(0.5, 0.7, 21), np.linspace(0.25, 0.35, 21), [0.05]])
    s_neg = np.concatenate([np.full(21, 0.1), np.full(21, 0.1), [0.3]])
    labels = np.repeat([0, 1, 0], [21, 21, 1])
    return Scores(rs, np.sqrt(1 - rs**2), s_neg, (1 - labels).astype(np.int32)), labels


def test_the_adaptive_rule_drops_the_stray_and_nothing_typical():
    s, labels = typical_and_stray()
    fates = select(s, labels, consensus(Profile.of(s, labels, 2)), p_l="auto", p_f=0)
    assert np.flatnonzero(fates.anomalous).tolist() == [42]


def test_the_adaptive_rule_needs_the_rivals():
    s, labels = typical_and_stray()
    bare = Scores(s.rs, s.ds, s.s_neg)
    with pytest.raises(ScopeError, match="needs the rival class"):
        select(bare, labels, consensus(Profile.of(s, labels, 2)), p_l="auto")


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"p_l": 1}, "p_l must be at least 0 and below 1, got 1"),
        ({"p_l": 1.5}, "p_l must be at least 0 and below 1, got 1.5"),
        ({"p_f": -0.1}, "p_f must be at least 0 and below 1, got -0.1"),
        ({"p_f": "half"}, "p_f must be a number, got 'half'"),
        ({"p_f": float("nan")}, "p_f must be a number, got nan"),
        ({"beta": 1.1}, "beta must be between 0 and 1, got 1.1"),
        ({"ids": ["a", "b", "a"]}, "ids must be distinct, got 'a' more than once"),
        ({"ids": ["a"]}, "one entry a sample"),
    ],
)
def test_bad_settings_are_named(setting, sentence):
    s = Scores(*[np.zeros(3, np.float32)] * 3)
    with pytest.raises(ScopeError, match=sentence):
        select(s, np.zeros(3, int), weighted(1, 1), **setting)
