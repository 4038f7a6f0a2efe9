"""Masking keys that sites of a call offer, signed: whose profiles an attempt adds up.

The roster travels as the signed offers themselves. So every site sees for itself that each key is
of a site of the call: keys that a coordinator made up would unmask whoever is left.
"""

from collections.abc import Sequence

from scopefl.core.envelope import LARGEST, Body, seal, unseal, varint
from scopefl.errors import RefusedError
from scopefl.federation.call import Call, verify, verify_all
from scopefl.federation.secure_sum import KEY, MAX_ATTEMPTS, MAX_SITES, Roster


def gathered(offers: Sequence[bytes]) -> bytes:
    """Put signed offers into the one message that goes to all their sites."""
    parts = (varint(len(offer)) + offer for offer in offers)
    return seal(b"K", varint(len(offers)) + b"".join(parts))


def roster_of(offers: Sequence[bytes], call: Call, after: Roster | None = None) -> Roster:
    """Check the signed offers of one attempt, the first or that after another; give its roster."""
    due = 1 if after is None else after.attempt + 1
    return _roster(offers, call, due, after.keys if after else ())


def read_roster(message: bytes, call: Call) -> Roster:
    """Give the roster that `gathered` offers make, each checked as if nobody had before."""
    fields = Body(unseal(b"K", message))
    offers = [fields.take(fields.varint(LARGEST)) for _ in range(fields.varint(MAX_SITES))]
    if fields.rest() or not offers:
        raise RefusedError("this roster is not as scope writes it; ask for it again")
    attempt, _ = _offered(verify(offers[0], "offer", call).content)
    return _roster(offers, call, attempt, ())


def _roster(offers: Sequence[bytes], call: Call, due: int, spent: Sequence[bytes]) -> Roster:
    signed = [_offered(content) for content in verify_all(offers, "offer", call).values()]
    attempts = sorted({attempt for attempt, _ in signed})
    if attempts != [due]:
        raise RefusedError(
            f"offers must all be for attempt {due}, got {attempts}; ask for new ones"
        )
    return Roster.of(call.digest, due, [key for _, key in signed], spent)


def _offered(content: bytes) -> tuple[int, bytes]:
    """Give the attempt and the key."""
    fields = Body(content)
    attempt, key = fields.varint(MAX_ATTEMPTS + 1), fields.take(KEY)
    if fields.rest():
        raise RefusedError("a key offer holds an attempt and a key only; make it anew")
    return attempt, key
