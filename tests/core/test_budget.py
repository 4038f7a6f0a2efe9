from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl import Profile, ScopeError, consensus, select_budget
from scopefl.core.budget import SURE, dithered, level, quotas
from scopefl.core.fates import ANOMALOUS, KEPT, FatesInMemory
from scopefl.core.order import evenly
from tests.clouds import scored

KEEPS = st.sampled_from([0.05, 0.1, "0.3", 0.5, 0.7, 0.9, 1])
COUNTS = st.lists(st.integers(0, 300), min_size=2, max_size=8)


@given(COUNTS, KEEPS)
def test_quotas_are_one_level_and_sum_to_the_floor_of_the_budget(count, keep):
    quota = quotas(np.array(count), keep)
    assert sum(quota) == int(Fraction(str(keep)) * sum(count))
    level = max(quota)
    assert all(q in (level, n) and q <= n for q, n in zip(quota, count, strict=True))


def test_quotas_do_not_depend_on_the_numbering_of_classes():
    assert quotas(np.array([7, 7, 1, 90]), 0.3) == quotas(np.array([90, 1, 7, 7]), 0.3)[::-1]


@given(scored(max_samples=60), KEEPS, st.sampled_from([0, 0.1, 0.5, "auto"]), st.integers(1, 5))
def test_clients_together_meet_the_budget_and_empty_no_class(collection, keep, p_l, n_clients):
    s, labels, n_classes = collection
    profile = Profile.of(s, labels, n_classes)
    quota = quotas(profile.count, keep)
    total, kept_of = 0, np.zeros(n_classes, int)
    for k in range(n_clients):
        rows = np.arange(len(s)) % n_clients == k
        chosen = select_budget(
            s[rows], labels[rows], profile, keep=keep, p_l=p_l, run="r", client=str(k)
        )
        kept = np.bincount(labels[rows][chosen.kept], minlength=n_classes)
        mine = np.bincount(labels[rows], minlength=n_classes)
        for c in np.flatnonzero(mine):
            assert abs(int(kept[c]) - quota[c] * int(mine[c]) / int(profile.count[c])) <= 1
        kept_of += kept
        total += chosen.kept.sum()
        assert np.array_equal(
            chosen.kept.astype(int) + chosen.anomalous + chosen.redundant, np.ones(rows.sum())
        )
    cells = sum(len(set(labels[k::n_clients].tolist())) for k in range(n_clients))
    assert abs(int(total) - int(sum(quota))) <= cells
    if sum(quota):
        assert ((kept_of > 0) == (profile.count > 0)).all()


@given(st.lists(st.integers(1, 400), min_size=2, max_size=8), KEEPS, st.integers(1, 4))
def test_the_coreset_is_never_less_balanced_than_the_data(count, keep, n_clients):
    # Tolerance: each client may round a class by one sample either way.
    quota = quotas(np.array(count), keep)
    if not sum(quota):
        return
    full = max(count) / min(count)
    kept = np.array([float(q) for q in quota])
    assert kept.max() / kept.min() <= full * (1 + 1e-12)
    rounded = np.zeros(len(count))
    for k in range(n_clients):
        for c, n in enumerate(count):
            mine = n // n_clients + (k < n % n_clients)
            if mine:
                rounded[c] += dithered(quota[c] * mine / n, quota[c], "", str(k), c)
    assert rounded.max() <= kept.max() + n_clients
    assert rounded.min() >= max(1, kept.min() - n_clients)


def spread(n):
    rng = np.random.default_rng(0)
    rs = rng.uniform(0.1, 0.6, n).astype(np.float32)
    s_neg = rng.uniform(0.0, 0.3, n).astype(np.float32)
    from scopefl import Scores

    return Scores(rs, np.sqrt(1 - rs**2), s_neg)


def test_anomalies_go_first_and_the_rest_is_spread_over_r():
    s, labels = spread(1000), np.zeros(1000, int)
    profile = Profile.of(s, labels, 2)
    chosen = select_budget(s, labels, profile, keep=0.5, p_l=0.2, client="a")
    assert (chosen.anomalous.sum(), chosen.kept.sum()) == (200, 500)
    more = select_budget(s, labels, profile, keep=0.9, p_l=0.2, client="a")
    assert (more.anomalous.sum(), more.redundant.sum()) == (100, 0)
    typical = s.rs - s.s_neg
    clean = ~chosen.anomalous
    assert abs(typical[chosen.kept].mean() - typical[clean].mean()) < 0.01


def test_all_is_kept_when_all_may_be():
    s, labels = spread(50), np.arange(50) % 2
    assert select_budget(s, labels, Profile.of(s, labels, 2), keep=1).kept.all()


@given(scored(), KEEPS, st.randoms())
def test_the_order_of_the_samples_changes_no_fate(collection, keep, random):
    s, labels, n_classes = collection
    profile = Profile.of(s, labels, n_classes)
    ids = np.arange(len(s))
    order = np.array(random.sample(range(len(s)), len(s)), int)
    whole = select_budget(s, labels, profile, keep=keep, ids=ids)
    moved = select_budget(s[order], labels[order], profile, keep=keep, ids=ids[order])
    assert np.array_equal(moved.kept, whole.kept[order])
    assert np.array_equal(moved.anomalous, whole.anomalous[order])


def test_shares_are_rounded_without_bias_and_by_name_only():
    share, quota = Fraction(13, 4), Fraction(SURE)
    rounded = [dithered(share, quota, "run", f"site {k}", 3) for k in range(4000)]
    assert set(rounded) == {3, 4}
    assert abs(np.mean(rounded) - 3.25) < 0.03
    assert dithered(share, quota, "run", "site 7", 3) == rounded[7]


def test_a_rare_class_keeps_a_sample_at_each_client_that_holds_it():
    assert dithered(Fraction(1, 1000), Fraction(SURE - 1), "", "", 0) == 1
    assert dithered(Fraction(0), Fraction(0), "", "", 0) == 0


@given(st.integers(0, 50), st.integers(0, 50))
def test_even_steps_take_distinct_rows_and_spare_the_ends_alike(n, count):
    count = min(count, n)
    taken = evenly(np.arange(n), count)
    assert len(set(taken.tolist())) == count
    if count:
        assert abs(taken[0] - (n - 1 - taken[-1])) <= 1


def test_a_keep_beyond_all_is_refused():
    s = spread(3)
    with pytest.raises(ScopeError, match="keep must be at least 0 and at most 1, got 1.2"):
        select_budget(s, np.zeros(3, int), Profile.of(s, np.zeros(3, int), 2), keep=1.2)


def leaning():
    """Two classes of 12; four of class 0 lean to class 1, half a sigma better there than here."""
    from scopefl import Scores

    rs = np.tile(np.float64([0.4, 0.6]), 12)
    s_neg = np.full(24, 0.2)
    rs[8:12], s_neg[8:12] = 0.45, 0.5
    rival = np.repeat([1, 0], 12)
    return Scores(rs, np.sqrt(1 - rs**2), s_neg, rival), np.repeat([0, 1], 12)


def kept_of_the_leaning(keep, p_l="auto"):
    s, labels = leaning()
    chosen = select_budget(s, labels, Profile.of(s, labels, 2), keep=keep, p_l=p_l, client="a")
    assert not chosen.anomalous.any() or p_l != "auto"
    return int(chosen.kept[8:12].sum()), int(chosen.kept[:12].sum())


def test_what_leans_to_its_rival_goes_while_three_times_the_share_is_left():
    assert kept_of_the_leaning("2/24") == (0, 1)
    assert kept_of_the_leaning("4/24") == (0, 2)
    # 12 are 3 x 4: none may be spared, and the even spread takes one of the four.
    assert kept_of_the_leaning("8/24") == (1, 4)
    assert kept_of_the_leaning("24/24") == (4, 12)


def test_with_a_fixed_share_of_anomalies_nothing_else_is_doubted():
    spread_out = kept_of_the_leaning("6/24", p_l=0)
    assert spread_out == (1, 3)


def kept_of_a_store(seen, p_l):
    """Keep a fifth of 110 samples, 100 and 10 of a class, of which 10 and 10 are here."""
    scores, labels = leaning()
    inside = [*range(10), *range(12, 22)]
    fates = FatesInMemory(scores[inside], labels[inside], consensus(Profile.of(*leaning(), 2)))
    none = np.zeros((3, 2), np.int64)
    profile = Profile(np.array([100, 10]), none, none)
    level(fates, profile, keep=0.2, p_l=p_l, run="", client="a", seen=seen)
    return fates.counts(KEPT).tolist(), fates.counts(ANOMALOUS).tolist()


def test_the_share_of_a_part_is_of_all_that_was_seen():
    # 22 of 110 is 12 and 10. Ten of a hundred would have a tenth of 12.
    assert sum(kept_of_a_store(None, 0)[0]) < 13
    assert kept_of_a_store(np.array([100, 10]), 0) == ([10, 10], [0, 0])


def test_no_anomaly_is_kept_only_to_fill_the_share_of_a_part():
    # Two of class 0 lean to class 1; both classes lose four. The whole class takes its own back.
    kept, anomalous = kept_of_a_store(np.array([100, 10]), 0.1)
    assert anomalous == [2, 0]
    assert kept == [8, 10]
