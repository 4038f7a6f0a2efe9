import tracemalloc
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl import Profile, ScopeError, Scores, agree
from scopefl.core.bits import BitReader, BitWriter
from scopefl.core.envelope import LARGEST, Body, seal, unseal, varint
from scopefl.core.policy import Agreement
from scopefl.core.release import Release
from scopefl.core.terms import Terms
from tests.clouds import scored
from tests.mutations import invariants, mutated, resealed


@given(scored(), st.binary(max_size=32))
def test_every_real_profile_survives_the_wire(collection, fingerprint):
    s, labels, n_classes = collection
    profile = Profile.of(s, labels, n_classes)
    again, theirs = Profile.from_body(unseal(b"P", profile.to_bytes(fingerprint)), 1 << 40)
    assert again == profile
    assert theirs == fingerprint
    assert Profile.from_bytes(profile.to_bytes()) == profile


@given(st.integers(1, 10**9), st.integers(0, 2**31))
def test_profiles_of_any_size_survive(n, seed):
    rng = np.random.default_rng(seed)
    mean, spread = rng.uniform(-0.9, 0.9, 2), rng.uniform(0, 0.1, 2)
    square = mean**2 + spread**2
    sums = np.array([mean[0], np.sqrt(1 - square[0]), mean[1]])
    squares = np.array([square[0], 1 - square[0], square[1]])
    count = np.array([0, n, 0])
    profile = Profile(
        count, *(np.int64(np.rint(x[:, None] * count * 2**20)) for x in (sums, squares))
    )
    assert Profile.from_bytes(profile.to_bytes()) == profile


@given(st.lists(st.tuples(st.integers(0, 2**40), st.integers(0, 45)), max_size=20))
def test_golomb_codes_give_back_what_was_written(numbers):
    writer = BitWriter()
    for value, k in numbers:
        writer.golomb(value, k)
    reader = BitReader(writer.to_bytes())
    assert [reader.golomb(k) for _, k in numbers] == [value for value, _ in numbers]
    reader.end()


@given(st.integers(0, 2**40))
def test_varints_give_back_what_was_written(value):
    assert Body(varint(value)).varint(2**40) == value


def profile_of(*count):
    n = np.array(count)
    zero = 0 * n
    unit = n * 2**20
    return Profile(n, np.stack([zero, unit, zero]), np.stack([zero, unit, zero]))


def broken(**change):
    whole = {k: v.copy() for k, v in vars(profile_of(4, 0)).items()}
    for name, (where, value) in change.items():
        whole[name][where] = value
    return Profile(**whole)


@pytest.mark.parametrize(
    ("profile", "sentence"),
    [
        (broken(sums=((0, 0), 5 * 2**20)), "a mean beyond 1"),
        (broken(squares=((2, 0), -1)), "a mean square outside 0..1"),
        (broken(squares=((2, 0), 5 * 2**20)), "a mean square outside 0..1"),
        (broken(sums=((2, 0), 2**20)), "a negative variance"),
        (broken(sums=((1, 0), -1)), "a negative DS"),
        (broken(squares=((1, 0), 2**20)), r"RS\^2 \+ DS\^2 that is not 1|a negative variance"),
        (profile_of(2**41), "more than 1099511627776 samples"),
    ],
)
def test_impossible_statistics_are_refused_on_reading(profile, sentence):
    with pytest.raises(ScopeError, match=f"cannot be true: class 0 has ({sentence})"):
        Profile.from_bytes(profile.to_bytes())


def test_a_negative_count_is_refused():
    with pytest.raises(ScopeError, match="a negative count"):
        profile_of(-1).check()


def test_sums_without_samples_are_refused():
    with pytest.raises(ScopeError, match="class 1 has a mean beyond 1"):
        broken(sums=((0, 1), 1)).check()


def test_a_site_cannot_claim_more_than_it_declared():
    with pytest.raises(ScopeError, match="class 0 has more than 3 samples"):
        Profile.from_bytes(profile_of(4).to_bytes(), max_count=3)


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (b"", "not a profile of scopefl"),
        (b"PK\x03\x04 and so on", "not a profile of scopefl"),
        (agree([profile_of(1).to_bytes()]).to_bytes(), "a profile is wanted here, got a policy"),
        (b"SCP\x02" + b"rest of a later one", "format version 2 and this scopefl reads 1"),
        (profile_of(3).to_bytes()[:-1], "damaged on its way"),
        (seal(b"P", varint(2**21)), "above its limit of 1048576"),
        (seal(b"P", varint(2**20) + varint(0)), "ends before its list of classes"),
        (seal(b"P", varint(3) + varint(33)), "above its limit of 32"),
        (seal(b"P", varint(3) + varint(0) + b"\x08"), "classes beyond its own list"),
        (seal(b"P", varint(3) + varint(0) + b"\x80\x00"), "over 64 bits|middle of a number"),
        (seal(b"P", varint(3) + varint(0) + b"\x00\x00"), "goes on after its last number"),
    ],
)
def test_what_is_no_profile_is_named(message, sentence):
    with pytest.raises(ScopeError, match=sentence):
        Profile.from_bytes(message)


def test_a_message_over_the_limit_is_refused_before_it_is_read():
    with pytest.raises(ScopeError, match="at most 64 MiB, got 64 MiB"):
        Profile.from_bytes(bytes(LARGEST + 1))


def test_every_truncation_and_every_flipped_bit_of_a_profile_is_noticed():
    message = profile_of(3, 0, 9).to_bytes(b"12345678")
    for length in range(len(message)):
        with pytest.raises(ScopeError):
            Profile.from_bytes(message[:length])
    for bit in range(8 * len(message)):
        flipped = bytearray(message)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ScopeError):
            Profile.from_bytes(bytes(flipped))


def messages(rng):
    """Profiles and policies of all sizes, as a hostile site would start from."""
    found = []
    for n, n_classes in ((0, 2), (3, 2), (40, 6), (500, 30), (60, 200)):
        rs = rng.uniform(-1, 1, n)
        s = Scores(rs, np.sqrt(1 - rs**2), rng.uniform(-1, 1, n))
        profile = Profile.of(s, rng.integers(0, n_classes, n), n_classes)
        found += [profile.to_bytes(b"12345678"), agree([profile.to_bytes()]).to_bytes()]
        found += releases(profile)
    return found


def releases(profile):
    """What the profile becomes in the other modes, and the policy that comes of it."""
    held = np.concatenate([profile.count[None], profile.sums, profile.squares])
    held = held * (profile.count >= 5)
    noise = np.ones((5, profile.n_classes), np.int64)
    found = [
        Release(Terms.of("min-cell"), b"12345678", held),
        Release(
            Terms.of("secure-sum"), b"12345678", np.concatenate([held, held[:1]]), bytes(32), 3
        ),
        Release(Terms.of("local-dp"), b"12345678", noise, noise=1.5),
    ]
    messages = [release.to_bytes() for release in found]
    return [*messages, agree(messages[:1]).to_bytes()]


def attack(rounds, seed):
    rng = np.random.default_rng(seed)
    start = messages(rng)
    accepted = 0
    for _ in range(rounds):
        message = mutated(start[rng.integers(len(start))], start, rng)
        read = Agreement if message[2:3] == b"O" else Release
        try:
            found = read.from_bytes(message)
        except ScopeError:
            continue
        accepted += 1
        found.terms.check()
        if not (isinstance(found, Release) and (found.terms.masked or found.terms.noisy)):
            assert invariants(found.profile) == []
        again = message if message[2:3] == b"P" else found.to_bytes()
        assert read.from_bytes(again).terms == found.terms
    return accepted


@pytest.mark.slow
def test_fifty_thousand_mutated_messages_break_nothing():
    # The mutations are close enough to the truth to be worth refusing.
    assert attack(50_000, seed=0) > 100


def test_reading_mutated_messages_takes_little_memory():
    tracemalloc.start()
    attack(500, seed=99)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.nightly
@pytest.mark.timeout(3600)
def test_a_million_mutated_messages_break_nothing():
    for seed in range(20):
        attack(50_000, seed=1 + seed)


def test_resealing_makes_a_mutation_pass_the_checksum():
    message = resealed(b"SCP\x01body" + b"0000")
    assert zlib.crc32(message[:-4]).to_bytes(4, "big") == message[-4:]
