"""The attack suite: each attack succeeds on `open` and fails on the mode that claims to stop it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl import Profile, Scores, agree
from scopefl.core import attacks, privacy
from scopefl.core.terms import Terms


def held(rs, labels, n_classes=3):
    rs = np.asarray(rs, float)
    return Profile.of(Scores(rs, np.sqrt(1 - rs**2), rs / 2), np.asarray(labels), n_classes)


@settings(max_examples=60)
@given(st.lists(st.integers(100, 400), min_size=1, max_size=3, unique=True))
def test_one_two_or_three_images_are_recovered_from_their_moments(thousandths):
    rs = np.array(thousandths) / 1000
    if np.diff(np.sort(rs)).min(initial=1) < 0.02:
        return
    found = attacks.reconstruct(held(rs, [1] * len(rs)))
    assert attacks.matches(found[0].rs, rs)
    assert attacks.reconstruct(privacy.fold(held(rs, [1] * len(rs)), 5)) == []


def test_four_images_are_not():
    assert attacks.reconstruct(held([0.2, 0.25, 0.3, 0.31], [0] * 4)) == []


@pytest.mark.parametrize("n", [10, 10_000])
def test_two_profiles_one_image_apart_give_it_away_in_open_and_in_min_cell(n):
    rs = np.random.default_rng(0).uniform(0.1, 0.4, n)
    before, after = held(rs[:-1], [0] * (n - 1)), held(rs, [0] * n)
    for least in (1, 5):
        came = attacks.added(privacy.fold(before, least), privacy.fold(after, least))
        assert attacks.matches(attacks.reconstruct(came)[0].rs, rs[-1:], within=1e-6)


@pytest.mark.parametrize("k", [2, 4])
def test_the_policy_gives_the_last_site_to_all_others_together(k):
    rng = np.random.default_rng(1)
    sites = [held(rng.uniform(0.1, 0.4, 9), [0] * 9) for _ in range(k)]
    told = agree([site.to_bytes() for site in sites]).profile
    others = sum(sites[:-1], Profile.empty(3))
    assert attacks.of_the_others(told, others) == sites[-1]


def test_a_class_that_less_than_three_sites_hold_is_told_to_nobody():
    sites = [held([0.2] * 6, [0] * 6), held([0.3] * 6, [0] * 6), held([0.4] * 7, [0] * 6 + [2])]
    total = np.sum([privacy.to_rows(site) for site in sites], axis=0)
    told, holders = privacy.published(*privacy.from_total(total, 3))
    assert told.count.tolist() == [18, 0, 0]
    assert holders.tolist() == [3, 0, 0]
    # One reader, holding 6 of the 18, is left with the sum of two sites: no site's own profile.
    assert attacks.of_the_others(told, sites[0]) == sites[1] + privacy.where(
        sites[2], np.array([True, False, False])
    )


def test_a_candidate_image_is_recognised_by_its_score():
    profile = held([0.25, 0.3141], [0, 1])
    assert attacks.is_member(profile, 1, 0.3141)
    assert not attacks.is_member(profile, 1, 0.3142)
    assert not attacks.is_member(privacy.fold(profile, 5), 1, 0.3141)


def test_masked_rows_of_one_image_say_nothing_of_it():
    pytest.importorskip("cryptography")
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

    from scopefl.federation.secure_sum import Roster, masked, public_of

    keys = [X25519PrivateKey.generate() for _ in range(3)]
    roster = Roster.of(bytes(32), 1, [public_of(key) for key in keys])
    rows = masked(privacy.to_rows(held([0.25], [1])), keys[0], roster)
    seen = Profile(rows[0], rows[1:4], rows[4:7])
    assert attacks.reconstruct(seen) == []
    assert not attacks.is_member(seen, 1, 0.25)


def test_noise_hides_a_single_image_and_its_coming():
    pytest.importorskip("opendp")
    from scopefl.core import noisy
    from scopefl.core.release import Release
    from scopefl.federation.sharing import share

    terms = Terms.of("local-dp", epsilon=1.0)
    rs = np.full(1000, 0.25)
    s = Scores(rs, np.sqrt(1 - rs**2), rs / 2)
    labels = np.array([0] * 999 + [1])
    read = Release.from_bytes(share(s, labels, 3, terms))
    told = noisy.restored(read.rows, read.noise, terms)
    assert attacks.reconstruct(told) == []
    assert told.count[1] == 0


STOPPED_BY = {
    "coordinator, class of 1": 1,
    "coordinator, class of 2": 1,
    "coordinator, class of 3": 1,
    "membership by exact score": 1,
    "K = 2, the other site": 1,
    "K - 1 of 4 collude": 3,
    "sole holder, coordinator": 3,
    "drop-out that was feigned": 3,
    "successive profiles": 2,
    "successive totals": 3,
}
"""Number of the first mode from which on an attack fails; in min-cell, small classes are safe."""


def test_each_attack_succeeds_on_open_and_fails_on_the_modes_that_claim_to_stop_it():
    pytest.importorskip("cryptography")
    pytest.importorskip("opendp")
    from benchmarks.privacy_attacks import attempted
    from scopefl.core.terms import MODES

    found = attempted()
    assert found.keys() == STOPPED_BY.keys()
    for attack, row in found.items():
        assert row["open"] is True, attack
        first = STOPPED_BY[attack]
        assert not any(row[mode] for mode in MODES[first:]), attack
        # The other attacks are on a class of few images, which min-cell does not share.
        still = [m for m in MODES[:first] if m != "min-cell" or "successive" in attack]
        assert all(row[mode] for mode in still), attack
