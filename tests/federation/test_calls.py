import re
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

pytest.importorskip("cryptography")

from scopefl import FingerprintError, RefusedError, ScopeError, agree
from scopefl.core.terms import MODES, Terms
from scopefl.federation import answering
from scopefl.federation import call as calls
from scopefl.federation.by_call import specimens
from scopefl.federation.call import Call
from scopefl.federation.offers import gathered, read_roster, roster_of
from scopefl.federation.site_keys import SiteKeys
from tests.federation.rounds import KIT, answers, collaboration, scores_of

SECURE = Terms.of("secure-sum")


@pytest.mark.parametrize("mode", MODES)
def test_a_round_under_a_call_ends_with_all_sites_sure_of_one_policy(tmp_path, mode):
    sites, call = collaboration(tmp_path, Terms.of(mode))
    messages, _ = answers(sites, call)
    agreement, transcript = answering.conclude(messages, call)
    policy = agreement.to_bytes()
    receipts = [answering.receipt(policy, transcript, call, s) for s in sites.values()]
    assert answering.compare(receipts, call) == transcript.policy
    assert agreement.terms == call.terms


def test_signed_secure_sums_are_the_open_sums(tmp_path):
    sites, call = collaboration(tmp_path, SECURE)
    agreement, _ = answering.conclude(answers(sites, call)[0], call)
    opened = agree([scores_of(seed).profile.to_bytes(KIT) for seed in range(3)])
    assert agreement.profile == opened.profile


def test_a_site_that_drops_after_the_keys_costs_one_attempt(tmp_path):
    sites, call = collaboration(tmp_path, SECURE, names=("north", "south", "west", "east"))
    messages, roster = answers(sites, call)
    with pytest.raises(RefusedError, match="4 sites and 3 masked profiles came"):
        answering.conclude(messages[:3], call)
    rest = {name: sites[name] for name in ("north", "south", "west")}
    again, _ = answers(rest, call, attempt=2, after=roster)
    agreement, _ = answering.conclude(again, call)
    assert (agreement.sites, agreement.expected) == (3, 4)
    with pytest.raises(RefusedError, match="at most 2 attempts, got attempt 3"):
        sites["north"].offer(call, 3)
    with pytest.raises(RefusedError, match="different rosters"):
        answering.conclude([*again[:2], messages[2]], call)


def test_keys_are_made_and_used_once(tmp_path):
    sites, call = collaboration(tmp_path, SECURE)
    offers = [site.offer(call) for site in sites.values()]
    with pytest.raises(RefusedError, match="has made a key for attempt 1 before"):
        sites["north"].offer(call)
    roster = roster_of(offers, call)
    north = sites["north"]
    answering.answer(scores_of(0), call, north, "secure-sum", roster=roster)
    with pytest.raises(RefusedError, match="a key masks one profile and is then destroyed"):
        answering.answer(scores_of(1), call, north, "secure-sum", roster=roster)
    with pytest.raises(RefusedError, match="has made a key for attempt 1 before"):
        north.offer(call)
    with pytest.raises(RefusedError, match=r"all be for attempt 2, got \[1\]"):
        roster_of(offers, call, after=roster)


def test_a_roster_holds_nothing_but_keys_that_sites_of_the_call_signed(tmp_path):
    sites, call = collaboration(tmp_path / "a", SECURE)
    offers = [site.offer(call) for site in sites.values()]
    assert read_roster(gathered(offers), call) == roster_of(offers, call)
    # A coordinator that stands in for all other sites would be left with the one it is after.
    invented = [SiteKeys.new(tmp_path / name, name).offer(call) for name in ("x", "y")]
    with pytest.raises(RefusedError, match="is of no site of the call"):
        read_roster(gathered([offers[0], *invented]), call)
    with pytest.raises(RefusedError, match="north answered twice"):
        read_roster(gathered([offers[0], offers[0], offers[1]]), call)
    with pytest.raises(RefusedError, match="at least 3 sites, got 2"):
        read_roster(gathered(offers[:2]), call)
    with pytest.raises(RefusedError, match="not as scope writes it"):
        read_roster(gathered([]), call)
    late = [sites["north"].offer(call, 2), *offers[1:]]
    with pytest.raises(RefusedError, match=r"all be for attempt 2, got \[1, 2\]"):
        read_roster(gathered(late), call)
    with pytest.raises(RefusedError, match=r"all be for attempt 1, got \[1, 2\]"):
        roster_of(late, call)


def test_two_sites_cannot_be_called_to_a_secure_sum(tmp_path):
    with pytest.raises(RefusedError, match="needs at least 3 sites, got 2"):
        collaboration(tmp_path, SECURE, names=("north", "south"))


def test_answers_to_another_run_round_or_nonce_are_refused(tmp_path):
    sites, call = collaboration(tmp_path, Terms())
    messages, _ = answers(sites, call)
    for change in ({"run": "other"}, {"round": 2}, {"nonce": "11" * 16}):
        with pytest.raises(RefusedError, match="answers another call than round"):
            answering.conclude(messages, replace(call, **change))
    with pytest.raises(RefusedError, match="north answered twice"):
        answering.conclude([*messages, messages[0]], call)
    with pytest.raises(RefusedError, match="west did not answer"):
        answering.conclude(messages[:2], call)


def test_every_flipped_bit_of_a_signed_message_is_refused(tmp_path):
    sites, call = collaboration(tmp_path, Terms())
    message = calls.sign(b"content", "profile", call, sites["north"].key)
    body = message[4:-4]
    for bit in range(0, 8 * len(body), 5):
        changed = bytearray(body)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(ScopeError):
            calls.verify(calls.seal(b"S", bytes(changed)), "profile", call)
    assert calls.verify(message, "profile", call).content == b"content"
    with pytest.raises(RefusedError, match="must send a signed offer, got a signed profile"):
        calls.verify(message, "offer", call)


def test_a_stranger_another_kit_and_another_size_are_refused(tmp_path):
    sites, call = collaboration(tmp_path / "a", Terms())
    stranger = SiteKeys.new(tmp_path / "stranger", "north")
    with pytest.raises(RefusedError, match="is of no site of the call"):
        answering.answer(scores_of(0), call, stranger, "open")
    other = scores_of(0, kit=b"otherkit")
    with pytest.raises(FingerprintError, match="score again with the coordinator's kit"):
        answering.answer(other, call, sites["north"], "open")
    forged = calls.sign(other.profile.to_bytes(b"otherkit"), "profile", call, sites["north"].key)
    with pytest.raises(FingerprintError, match="north scored with kit"):
        calls.admit([forged], call)
    large = calls.sign(scores_of(0, 1001).profile.to_bytes(KIT), "profile", call, sites["west"].key)
    with pytest.raises(RefusedError, match="west declared at most 1000 images and claims 1001"):
        calls.admit([large], call)


def test_a_noisy_profile_of_far_more_images_than_declared_is_refused(tmp_path):
    pytest.importorskip("opendp")
    sites, call = collaboration(tmp_path, Terms.of("local-dp", epsilon=10.0))
    content = answering.share_file(scores_of(0, 1500), call.terms)
    claimed = calls.sign(content, "profile", call, sites["west"].key)
    with pytest.raises(RefusedError, match="west declared at most 1000 images and claims 14"):
        calls.admit([claimed], call)


def test_no_mode_is_weaker_than_the_site_and_the_call_said(tmp_path):
    sites, call = collaboration(tmp_path, SECURE)
    with pytest.raises(RefusedError, match="agreed to secure-sum.dp and the call asks for secure"):
        answering.answer(scores_of(0), call, sites["north"], "secure-sum+dp")
    weaker = calls.sign(scores_of(0).profile.to_bytes(KIT), "profile", call, sites["north"].key)
    with pytest.raises(RefusedError, match="shared on the terms open and the call says secure-sum"):
        calls.admit([weaker], call)


def test_a_policy_that_was_told_differently_is_found_out(tmp_path):
    sites, call = collaboration(tmp_path, Terms())
    messages, _ = answers(sites, call)
    one, first = answering.conclude(messages, call)
    other, second = answering.conclude(messages, call, gamma=2.0)
    receipts = [
        answering.receipt(one.to_bytes(), first, call, sites["north"]),
        answering.receipt(other.to_bytes(), second, call, sites["south"]),
    ]
    with pytest.raises(RefusedError, match="north and south were told different policies"):
        answering.compare(receipts, call)
    with pytest.raises(RefusedError, match="not that of the transcript"):
        answering.receipt(other.to_bytes(), first, call, sites["north"])
    without = replace(first, messages={**first.messages, "north": "00" * 32})
    with pytest.raises(RefusedError, match="does not hold what north sent"):
        answering.receipt(one.to_bytes(), without, call, sites["north"])


def test_epsilon_is_entered_before_anything_leaves_and_its_limit_holds(tmp_path):
    pytest.importorskip("opendp")
    terms = Terms.of("local-dp", epsilon=1.0)
    _, call = collaboration(tmp_path, terms)
    north = SiteKeys.new(tmp_path / "limited", "north", epsilon=1.3)
    member = calls.Member(calls.public_of(north.key).hex(), 1000)
    call = replace(call, sites={**call.sites, "north": member})
    answering.answer(scores_of(0), call, north, "local-dp")
    assert north.epsilon() == pytest.approx(1.0, rel=1e-3)
    later = replace(call, round=2)
    with pytest.raises(RefusedError, match=r"may spend epsilon 1.3 .* nothing was shared"):
        answering.answer(scores_of(0), later, north, "local-dp")
    assert len(north.spent) == 1
    with pytest.raises(RefusedError, match="has answered attempt 1 of this round already"):
        answering.answer(scores_of(0), call, north, "local-dp")


def test_answers_at_once_are_all_entered_and_only_one_to_each_call(tmp_path):
    north = SiteKeys.new(tmp_path / "north", "north")

    def spend(number):
        try:
            north.spend(bytes([number % 6]) * 32, SECURE, b"message %d" % number)
        except RefusedError:
            return 0
        return 1

    with ThreadPoolExecutor(12) as pool:
        assert sum(pool.map(spend, range(12))) == 6
    assert sorted(one.call[:2] for one in north.spent) == [f"0{n}" for n in range(6)]


def test_a_second_attempt_spends_its_epsilon_again(tmp_path):
    pytest.importorskip("opendp")
    sites, call = collaboration(tmp_path, Terms.of("secure-sum+dp"))
    _, roster = answers(sites, call)
    once = sites["north"].epsilon()
    answers(sites, call, attempt=2, after=roster)
    assert once == pytest.approx(1.0, rel=1e-3)
    assert 1.4 < sites["north"].epsilon() < 1.5


def test_a_clock_that_is_an_hour_off_changes_nothing(tmp_path, monkeypatch):
    sites, call = collaboration(tmp_path, SECURE)
    true = time.time
    messages, _ = answers(sites, call)
    monkeypatch.setattr(time, "time", lambda: true() + 3600)
    agreement, transcript = answering.conclude(messages, call)
    monkeypatch.setattr(time, "time", lambda: true() - 3600)
    assert answering.receipt(agreement.to_bytes(), transcript, call, sites["north"])


def test_a_call_that_was_changed_is_refused(tmp_path):
    _, call = collaboration(tmp_path, Terms())
    assert Call.from_bytes(call.to_bytes()) == call
    for broken in (b"", b"{}", b"[" * 5000, call.to_bytes() + b" ", b"null"):
        with pytest.raises(ScopeError, match="not a call as scope writes it"):
            Call.from_bytes(broken)
    with pytest.raises(ScopeError, match="the mode must be one of"):
        Call.from_bytes(re.sub(rb'"mode":"open"', b'"mode":"none"', call.to_bytes()))


def test_tiles_of_a_specimen_are_capped_and_must_be_named(tmp_path):
    pytest.importorskip("opendp")
    file, terms = scores_of(0), Terms.of("local-dp", tiles=2)
    with pytest.raises(ScopeError, match="nothing says which images are of one specimen"):
        answering.share_file(file, terms)
    assert specimens(file, r"^(.)")[:3] == ["0", "1", "2"]
    with pytest.raises(ScopeError, match="match every id"):
        specimens(file, r"^(x)")
    with pytest.raises(ScopeError, match="regular expression"):
        specimens(file, "(")
    assert answering.share_file(file, terms, specimens(file, r"^(.)"))
