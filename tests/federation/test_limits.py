"""A site's limits: what they give back, and how a broken site.toml is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.core.coreset import Selection
from scopefl.core.fates import FatesInMemory
from scopefl.core.policy import consensus
from scopefl.core.profile import Profile
from scopefl.core.scores import Scores
from scopefl.core.standard import anomaly, clipped_z, redundancy
from scopefl.errors import ScopeError
from scopefl.federation.limits import Limits, give_back, read_limits


def case(seed, n=40, n_classes=3):
    rng = np.random.default_rng(seed)
    scores = Scores(*rng.uniform(0.1, 0.9, (3, n)))
    labels = rng.integers(0, n_classes, n)
    profile = Profile.of(Scores(scores.rs, np.sqrt(1 - scores.rs**2), scores.s_neg), labels, 3)
    fate = rng.integers(0, 3, n)
    selection = Selection(fate == 0, fate == 1, fate == 2)
    return scores, labels, consensus(profile), selection


def within(limits, wished, scores, labels, policy):
    fate = np.uint8(wished.anomalous * 1 + wished.redundant * 2)
    fates = FatesInMemory(scores, labels, policy, fate=fate)
    give_back(limits, fates)
    return Selection.of(fates.fate)


@given(st.integers(0, 200), st.integers(0, 50), st.integers(0, 100))
def test_what_limits_give_back(seed, smallest, percent):
    scores, labels, policy, wished = case(seed)
    limits = Limits(f"{percent / 100}", smallest)
    given_back = within(limits, wished, scores, labels, policy)
    assert (given_back.kept | given_back.anomalous | given_back.redundant).all()
    assert (given_back.kept >= wished.kept).all()
    assert (~given_back.kept).sum() <= percent * len(labels) // 100
    for c in range(3):
        here = labels == c
        assert given_back.kept[here].sum() >= min(here.sum(), smallest)
    back = given_back.kept & ~wished.kept
    if smallest == 0 and (back & wished.anomalous).any():
        assert not given_back.redundant.any()
    needed = max(0, (~wished.kept).sum() - percent * len(labels) // 100)
    assert smallest > 0 or back.sum() == needed


def test_the_least_redundant_comes_back_first_and_then_the_least_anomalous():
    scores, labels, policy, wished = case(3)
    z = clipped_z(scores, labels, policy)
    redundant = np.flatnonzero(wished.redundant)
    anomalous = np.flatnonzero(wished.anomalous)
    dropped = len(redundant) + len(anomalous)
    one_less = within(Limits(f"{(dropped - 1) / 40}"), wished, scores, labels, policy)
    assert np.flatnonzero(one_less.kept & ~wished.kept) == [
        redundant[np.argmin(redundancy(z)[redundant])]
    ]
    more = within(Limits(f"{(len(anomalous) - 1) / 40}"), wished, scores, labels, policy)
    assert not more.redundant.any()
    assert np.flatnonzero(more.kept & wished.anomalous) == [
        anomalous[np.argmin(anomaly(z)[anomalous])]
    ]


def test_no_limits_change_nothing():
    scores, labels, policy, wished = case(1)
    assert (within(Limits(), wished, scores, labels, policy).kept == wished.kept).all()


def test_a_site_toml_is_read(tmp_path):
    path = tmp_path / "site.toml"
    path.write_text('[limits]\nlargest_prune_fraction = "0.3"\nsmallest_class_kept = 20\n')
    assert read_limits(path) == Limits("0.3", 20)
    path.write_text("")
    assert read_limits(path) == Limits()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[limits]\nsmallest_clas_kept = 3", "did you mean 'smallest_class_kept'"),
        ("[limits]\ncolour = 3", "it has largest_prune_fraction, smallest_class_kept"),
        ("[limit]\n", r"must hold one table, \[limits\]"),
        ("limits = 3", r"must hold one table, \[limits\]"),
        ("[limits]\nlargest_prune_fraction = 1.5", "at least 0 and at most 1, got 1.5"),
        ("[limits]\nlargest_prune_fraction = true", "must be a number"),
        ("[limits]\nsmallest_class_kept = 1.5", "a whole number of at least 0, got 1.5"),
        ("[limits]\nsmallest_class_kept = -1", "a whole number of at least 0, got -1"),
        ("[limits]\nsmallest_class_kept = true", "a whole number of at least 0, got True"),
        ("[limits", "must be a TOML file"),
        ("x" * 70_000, "must be at most 65536 bytes"),
    ],
)
def test_a_broken_site_toml_is_refused_with_the_remedy(tmp_path, text, sentence):
    path = tmp_path / "site.toml"
    path.write_text(text)
    with pytest.raises(ScopeError, match=sentence):
        read_limits(path)
