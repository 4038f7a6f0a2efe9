"""Calls, rosters, signed messages and transcripts as a hostile sender would change them."""

import tempfile
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("cryptography")

from scopefl import ScopeError
from scopefl.core.terms import Terms
from scopefl.federation import answering
from scopefl.federation.call import PURPOSES, Call, verify
from scopefl.federation.offers import gathered, read_roster
from scopefl.federation.secure_sum import Roster
from tests.federation.rounds import answers, collaboration
from tests.mutations import mutated


def prepared(folder):
    """Give each kind of message of one round with its reader; what is read says what it was of."""
    sites, call = collaboration(folder, Terms.of("secure-sum"))
    offers = [site.offer(call, 2) for site in sites.values()]
    signed, roster = answers(sites, call)
    agreement, transcript = answering.conclude(signed, call)
    receipt = answering.receipt(agreement.to_bytes(), transcript, call, sites["north"])
    readers = {purpose: lambda m, p=purpose: verify(m, p, call) for purpose in PURPOSES}
    return [
        (signed[0], readers["profile"]),
        (offers[0], readers["offer"]),
        (receipt, readers["receipt"]),
        (gathered(offers), lambda m: read_roster(m, call)),
        (roster.to_bytes(), lambda m: Roster.from_bytes(m).to_bytes() == m or None),
        (call.to_bytes(), lambda m: Call.from_bytes(m).to_bytes() == m or None),
        (
            transcript.to_bytes(),
            lambda m: answering.Transcript.from_bytes(m).to_bytes() == m or None,
        ),
    ]


def attack(rounds, seed):
    """Give how many changed messages were taken; whatever a signature covers is as it was sent."""
    rng = np.random.default_rng(seed)
    with tempfile.TemporaryDirectory() as folder:
        kinds = prepared(Path(folder))
    start = [message for message, _ in kinds]
    truths = [reader(message) for message, reader in kinds]
    accepted = 0
    for _ in range(rounds):
        at = int(rng.integers(len(kinds)))
        try:
            found = kinds[at][1](mutated(start[at], start, rng))
        except ScopeError:
            continue
        accepted += 1
        assert found == truths[at]
    return accepted


def test_changed_messages_of_a_round_are_refused_or_are_what_was_sent():
    attack(1500, seed=0)


@pytest.mark.nightly
def test_many_changed_messages_of_a_round_are_refused_or_are_what_was_sent():
    attack(200_000, seed=1)
