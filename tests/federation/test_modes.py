import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl import Profile, RefusedError, ScopeError, Scores, agree, consensus
from scopefl.core import noisy
from scopefl.core.cells import UNIT
from scopefl.core.policy import Agreement
from scopefl.core.release import Release
from scopefl.core.terms import MODES, Terms

pytest.importorskip("cryptography")
pytest.importorskip("opendp")

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from scopefl.federation import noise, secure_sum
from scopefl.federation.secure_sum import Roster
from scopefl.federation.sharing import share

CALL = bytes(range(32))
KIT = b"12345678"


def site(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, n_classes, n)
    rs, s_neg = 0.25 + 0.01 * labels + 0.03 * rng.standard_normal((2, n))
    return Scores(rs, np.sqrt(1 - rs**2), s_neg), labels


def masked_round(sites, n_classes, terms):
    keys = [X25519PrivateKey.generate() for _ in sites]
    roster = Roster.of(CALL, 1, [secure_sum.public_of(key) for key in keys])
    return [
        share(s, labels, n_classes, terms, KIT, key=key, roster=roster)
        for (s, labels), key in zip(sites, keys, strict=True)
    ]


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 6), st.integers(0, 1000))
def test_a_secure_sum_equals_the_open_one_bit_for_bit_where_three_sites_hold_the_class(k, seed):
    sites = [site(30, 5, seed + at) for at in range(k)]
    opened = agree([Profile.of(s, y, 5).to_bytes(KIT) for s, y in sites])
    secure = agree(masked_round(sites, 5, Terms.of("secure-sum")))
    told = opened.holders >= 3
    assert np.array_equal(secure.profile.count, opened.profile.count * told)
    assert np.array_equal(secure.profile.sums, opened.profile.sums * told)
    assert np.array_equal(secure.profile.squares, opened.profile.squares * told)
    assert np.array_equal(secure.holders, opened.holders * told)
    assert secure.terms.mode == "secure-sum"


def test_masks_hide_each_site_and_differ_with_every_roster():
    sites = [site(30, 5, at) for at in range(3)]
    keys = [X25519PrivateKey.generate() for _ in sites]
    public = [secure_sum.public_of(key) for key in keys]
    rows = np.zeros((8, 5), np.int64)
    one = secure_sum.masked(rows, keys[0], Roster.of(CALL, 1, public))
    other = secure_sum.masked(rows, keys[0], Roster.of(CALL, 2, public))
    assert (np.abs(one.astype(float)) > 2**40).all()
    assert (one != other).all()


def test_a_class_of_two_sites_is_not_told():
    sites = [site(30, 5, at) for at in range(3)]
    keep = sites[2][1] != 4
    s, y = sites[2]
    sites[2] = (noisy.only(s, keep), y[keep])
    secure = agree(masked_round(sites, 5, Terms.of("secure-sum")))
    assert secure.profile.count[4] == 0
    assert secure.holders.tolist() == [3, 3, 3, 3, 0]


def test_two_sites_are_too_few_and_keys_are_not_used_again():
    keys = [secure_sum.public_of(X25519PrivateKey.generate()) for _ in range(3)]
    with pytest.raises(RefusedError, match="at least 3 sites, got 2"):
        Roster.of(CALL, 1, keys[:2])
    with pytest.raises(RefusedError, match="every attempt needs new keys"):
        Roster.of(CALL, 2, keys, spent=keys[:1])
    with pytest.raises(RefusedError, match="every attempt needs new keys"):
        Roster.of(CALL, 1, [*keys, keys[0]])
    with pytest.raises(RefusedError, match="at most 2 attempts, got attempt 3"):
        Roster.of(CALL, 3, keys)


def test_a_site_that_drops_out_stops_the_attempt_and_a_new_one_succeeds():
    sites = [site(30, 5, at) for at in range(4)]
    messages = masked_round(sites, 5, Terms.of("secure-sum"))
    with pytest.raises(RefusedError, match=r"4 sites and 3 masked .* new attempt with new keys"):
        agree(messages[:3])
    assert agree(masked_round(sites[:3], 5, Terms.of("secure-sum"))).sites == 3


def test_profiles_of_two_attempts_do_not_add_up():
    sites = [site(30, 5, at) for at in range(3)]
    first, second = (masked_round(sites, 5, Terms.of("secure-sum")) for _ in "ab")
    with pytest.raises(RefusedError, match="masked for different rosters"):
        agree([*first[:2], second[2]])


def test_masks_that_do_not_cancel_are_noticed():
    messages = masked_round([site(30, 5, at) for at in range(3)], 5, Terms.of("secure-sum"))
    read = [Release.from_bytes(message) for message in messages]
    read[1].rows[7, 2] += 1 << 50
    with pytest.raises(RefusedError, match="do not add up"):
        agree([release.to_bytes() for release in read])


def test_a_site_outside_the_roster_shares_nothing():
    keys = [X25519PrivateKey.generate() for _ in range(3)]
    roster = Roster.of(CALL, 1, [secure_sum.public_of(key) for key in keys])
    with pytest.raises(RefusedError, match="not in the roster"):
        secure_sum.masked(np.zeros((8, 2), np.int64), X25519PrivateKey.generate(), roster)
    s, y = site(9, 2, 0)
    with pytest.raises(RefusedError, match="nothing was shared"):
        share(s, y, 2, Terms.of("secure-sum"))


def test_terms_do_not_mix():
    s, y = site(30, 5, 0)
    with pytest.raises(RefusedError, match="the same terms, got open from .* min-cell"):
        agree([share(s, y, 5, Terms.of(mode)) for mode in ("open", "min-cell")])


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_ends_in_a_policy_that_survives_the_wire(mode):
    terms = Terms.of(mode)
    sites = [site(200, 4, at) for at in range(3)]
    if terms.masked:
        messages = masked_round(sites, 4, terms)
    else:
        messages = [share(s, y, 4, terms, KIT) for s, y in sites]
    agreement = agree(messages)
    again = Agreement.from_bytes(agreement.to_bytes())
    assert again.terms == terms
    assert again.profile == agreement.profile
    assert np.array_equal(again.holders, agreement.holders)
    assert agreement.holders.tolist() == ([0] * 4 if terms.noisy else [3] * 4)


def test_min_cell_holds_small_classes_back():
    rs = np.full(9, 0.25)
    s = Scores(rs, np.sqrt(1 - rs**2), np.full(9, 0.2))
    message = share(s, np.array([0] * 4 + [1] * 5), 2, Terms.of("min-cell"))
    assert Release.from_bytes(message).profile.count.tolist() == [0, 5]


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(-1, 0.9), st.floats(0.01, 1))
def test_no_image_moves_the_moments_beyond_the_sensitivity(rs, s_neg, low, width):
    terms = Terms.of("local-dp", low=low, high=min(1, low + width))
    s = Scores(np.array([rs]), np.array([0.0]), np.array([s_neg]))
    moved = noisy.moments(s, np.array([0]), 1, terms)
    assert np.sqrt((moved.astype(float) ** 2).sum()) <= noisy.sensitivity(terms)


def test_the_sensitivity_is_reached_at_the_ends_of_the_range():
    terms = Terms.of("local-dp", low=0.0, high=0.5)
    s = Scores(np.array([0.5]), np.array([0.0]), np.array([0.0]))
    moved = noisy.moments(s, np.array([0]), 1, terms)
    assert np.sqrt((moved.astype(float) ** 2).sum()) == pytest.approx(np.sqrt(3.5) * UNIT)


def test_noise_has_the_deviation_it_tells_and_no_more_than_is_asked():
    zeros = np.zeros((5, 400), np.int64)
    found = noise.noised(zeros, 3e6)
    # 2000 draws: the deviation of the sample deviation is 1.6 %.
    assert found.std() == pytest.approx(3e6, rel=0.08)
    assert abs(found.mean()) < 5 * 3e6 / np.sqrt(2000)
    terms = Terms.of("secure-sum+dp", epsilon=1.0)
    whole = noise.share(Terms.of("local-dp", epsilon=1.0), 1)
    assert noise.share(terms, 5) * np.sqrt(4) == pytest.approx(whole)
    rho = (noisy.sensitivity(terms) / whole) ** 2 / 2
    assert 0.999 < noise.epsilon_of(rho, 1e-6) <= 1.0001


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 3.0, 10.0])
def test_the_noise_keeps_delta_by_the_exact_law_of_gaussians(epsilon):
    # Balle and Wang 2018, theorem 8: another way to the same promise than OpenDP's accounting.
    norm = pytest.importorskip("scipy.stats").norm
    terms = Terms.of("local-dp", epsilon=epsilon, delta=1e-6)
    s = noise.share(terms, 1) / noisy.sensitivity(terms)
    delta = norm.cdf(0.5 / s - epsilon * s) - np.exp(epsilon) * norm.cdf(-0.5 / s - epsilon * s)
    assert 1e-7 < delta < 1e-6


NOISY = Terms.of("local-dp")


def told(noise=1e6, **cells):
    rows = np.zeros((5, 3), np.int64)
    rows[0] = 100 * UNIT
    for row, value in cells.items():
        rows[int(row[1:]), 1] = value
    return Release(NOISY, KIT, rows, noise=noise).to_bytes()


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"r0": -(1 << 40)}, "class 1 has a negative count"),
        ({"r0": 2000 * UNIT}, "class 1 has more than 1000 samples"),
        ({"r2": 200 * UNIT}, "class 1 has moments beyond its count"),
        ({"r4": np.iinfo(np.int64).min}, "class 1 has moments beyond its count"),
    ],
)
def test_noisy_sums_that_no_images_and_no_noise_can_give_are_refused(cells, sentence):
    assert Release.from_bytes(told(), max_count=1000).images < 300
    with pytest.raises(ScopeError, match=f"cannot be true: {sentence}"):
        Release.from_bytes(told(**cells), max_count=1000)


def test_a_site_that_tells_other_noise_than_its_terms_give_is_named():
    agree([told(), told(), told()])
    with pytest.raises(RefusedError, match="profile 3 tells noise of deviation 1e.08 where"):
        agree([told(), told(), told(noise=1e8)])


def test_the_least_noise_there_can_be_hides_that_it_is_discrete():
    terms = Terms.of("secure-sum+dp", epsilon=1000.0, delta=1e-3)
    assert noise.share(terms, secure_sum.MAX_SITES) > 600


def test_a_noisy_round_of_many_images_comes_close_to_the_truth():
    sites = [site(20_000, 4, at) for at in range(3)]
    terms = Terms.of("secure-sum+dp", epsilon=5.0)
    truth = consensus(agree([share(s, y, 4, Terms()) for s, y in sites]).profile)
    found = consensus(agree(masked_round(sites, 4, terms)).profile)
    assert np.abs(found.mean - truth.mean).max() < 0.002
    assert np.abs(found.sigma - truth.sigma).max() < 0.01
    assert np.abs(found.weight - truth.weight).max() < 0.01
