"""Drift raises an alarm when something changed, and seldom when nothing did."""

import numpy as np
import pytest

from scopefl import Profile, ScopeError, Scores, consensus
from scopefl.stream.drift import Bounds, _auc, chance_of_so_many, drift
from scopefl.stream.signs import Signs

CLASSES = tuple("abcde")
C = len(CLASSES)
EVERYTHING = Bounds(false_alarms=0.5, sigmas=0.0, auc=1.0)


def drawn(rng, n, rs=0.0, s_neg=0.0, only=None):
    """Draw skewed scores, RS and S_neg correlated; shifts are in sigmas, of one class if named."""
    labels = rng.integers(0, C, n)
    shifted = np.ones(n) if only is None else labels == only
    common, own, other = (rng.gamma(4.0, 0.5, n) - 2.0 for _ in range(3))
    a = 0.25 + 0.01 * labels + 0.03 * (0.6 * common - 0.8 * own + rs * shifted)
    b = 0.20 + 0.02 * (0.6 * common + 0.8 * other + s_neg * shifted)
    rival = (labels + rng.integers(1, C, n)) % C
    return Scores(a, np.sqrt(1 - a**2), b, rival), labels


@pytest.fixture(scope="module")
def before():
    """A policy of many images, and signs of other images that came before."""
    rng = np.random.default_rng(0)
    profile = Profile.of(*drawn(rng, 20_000), C)
    policy = consensus(profile)
    return profile, policy, Signs.of(*drawn(rng, 3000), policy)


def judged(before, scores, labels, bounds=None):
    profile, policy, earlier = before
    return drift(Signs.of(scores, labels, policy), earlier, profile, bounds)


def rate(runs, bounds, n=400):
    rng, alarmed = np.random.default_rng(1), 0
    for _ in range(runs):
        profile = Profile.of(*drawn(rng, 4000), C)
        policy = consensus(profile)
        earlier, recent = (Signs.of(*drawn(rng, size), policy) for size in (1500, n))
        alarmed += bool(drift(recent, earlier, profile, bounds).alarms(CLASSES))
    return alarmed / runs


def test_alarms_are_as_rare_as_stated_where_nothing_changed():
    assert rate(400, Bounds()) <= 0.01
    # Without the bounds on size, what is left are the tests: their rate is the stated one at most.
    assert 0.15 < rate(300, EVERYTHING) <= 0.5


@pytest.mark.nightly
@pytest.mark.parametrize("stated", [0.01, 0.1])
def test_alarms_are_as_rare_as_stated_in_many_simulations(stated):
    bounds = Bounds(stated, sigmas=0.0, auc=1.0)
    assert rate(10_000, bounds) <= stated * 1.2


def test_a_shift_of_half_a_sigma_is_named_with_its_class_and_its_size(before):
    rng = np.random.default_rng(2)
    found = judged(before, *drawn(rng, 1500, rs=-0.5, only=3))
    assert np.argwhere(found.shifted).tolist() == [[0, 3]]
    assert found.sigmas[0, 3] == pytest.approx(-0.5, abs=0.15)
    (alarm,) = found.alarms(CLASSES)
    assert (alarm.kind, alarm.label) == ("shift", 3)
    assert alarm.sentence.startswith("d: mean RS is 0.")
    assert "sigmas below the policy's" in alarm.sentence


def test_a_shift_is_in_standard_errors_of_both_means(before):
    scores, labels = drawn(np.random.default_rng(3), 500, s_neg=0.8)
    profile, policy, _ = before
    found = judged(before, scores, labels)
    n, m = (labels == 2).sum(), profile.count[2]
    mean = Profile.of(scores, labels, C).mean[2, 2]
    shift = (mean - policy.mean[2, 2]) / policy.sigma[2, 2]
    assert found.sigmas[1, 2] == pytest.approx(shift)
    assert found.errors[1, 2] == pytest.approx(shift / np.sqrt(1 / n + 1 / m))


def test_a_large_window_finds_a_shift_too_small_to_matter_and_lets_it_pass(before):
    found = judged(before, *drawn(np.random.default_rng(4), 40_000, rs=0.1))
    assert (found.errors[0] > 4).all()
    assert found.alarms(CLASSES) == []


def test_images_of_a_class_the_kit_does_not_know_are_suspected_where_they_land(before):
    rng = np.random.default_rng(5)
    scores, labels = drawn(rng, 1000)
    new = np.flatnonzero(labels == 1)[:12]
    scores.rs[new] = scores.s_neg[new] = 0.12
    found = judged(before, scores, labels)
    assert found.suspected.tolist() == [c == 1 for c in range(C)]
    alarm = next(one for one in found.alarms(CLASSES) if one.kind == "new class")
    assert alarm.label == 1
    assert "images nearest to it are unlike any class (before: " in alarm.sentence
    assert found.p_strange[1] < 1e-6


def test_labels_that_fit_worse_are_a_fall_of_fitness(before):
    rng = np.random.default_rng(6)
    found = judged(before, *drawn(rng, 1000, rs=-0.4, s_neg=0.4))
    assert found.falling
    assert found.auc < 0.4
    assert any(one.kind == "fitness" for one in found.alarms(CLASSES))
    rising = judged(before, *drawn(rng, 1000, rs=0.4, s_neg=-0.4))
    assert not rising.falling
    assert rising.auc > 0.6


def test_more_images_of_a_hard_class_are_no_fall_of_fitness():
    rng = np.random.default_rng(7)
    hard = {"rs": -1.0, "only": 0}
    profile = Profile.of(*drawn(rng, 8000, **hard), C)
    policy = consensus(profile)
    earlier = Signs.of(*drawn(rng, 3000, **hard), policy)
    scores, labels = drawn(rng, 3000, **hard)
    mostly = (labels == 0) | (rng.random(3000) < 0.1)
    recent = Signs.of(scores[mostly], labels[mostly], policy)
    assert not drift(recent, earlier, profile).falling


def test_classes_of_few_images_are_not_judged(before):
    scores, labels = drawn(np.random.default_rng(8), 100, rs=-5)
    found = judged(before, scores, labels)
    few = np.bincount(labels, minlength=C) < 30
    assert few.all()
    assert np.isnan(found.sigmas).all()
    assert not found.shifted.any()


def test_before_anything_came_there_is_nothing_to_compare(before):
    profile, _, earlier = before
    none = Signs.empty(C)
    assert drift(none, earlier, profile).alarms(CLASSES) == []
    assert drift(earlier, none, profile).alarms(CLASSES) == []


def test_the_chance_of_strange_images_is_fishers():
    stats = pytest.importorskip("scipy.stats")
    for k, n, j, m in ((5, 40, 0, 90), (7, 7, 3, 500), (30, 400, 10, 4000), (9, 30, 0, 2)):
        exact = stats.hypergeom.sf(k - 1, n + m, k + j, n)
        assert chance_of_so_many(k, n, j, m) == pytest.approx(exact, rel=1e-9)
    assert chance_of_so_many(1, 100, 10, 100) == 1.0


def test_the_auc_and_its_error_are_those_of_mann_and_whitney():
    stats = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(9)
    recent, earlier = rng.integers(0, 8, 60), rng.integers(1, 8, 90)
    counts = [np.bincount(x, minlength=8)[None] for x in (recent, earlier)]
    auc, errors = _auc(*counts)
    slow = stats.mannwhitneyu(recent, earlier, alternative="less", use_continuity=False)
    assert auc == pytest.approx(slow.statistic / (60 * 90))
    assert stats.norm.cdf(errors) == pytest.approx(slow.pvalue)


def test_bounds_that_promise_nothing_are_refused():
    for wrong in ({"false_alarms": 0}, {"false_alarms": 1.0}, {"least": 1}):
        with pytest.raises(ScopeError, match="false_alarms must be between 0 and 1"):
            Bounds(**wrong)
