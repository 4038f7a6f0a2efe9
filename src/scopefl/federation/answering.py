"""Answering a call, merging the answers, and making sure that all sites were told the same."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scopefl.core import noisy
from scopefl.core.fingerprint import canonical_json
from scopefl.core.policy import Agreement, agree
from scopefl.core.profile import MAX_COUNT
from scopefl.core.scores import Labels, Scores
from scopefl.core.terms import Terms
from scopefl.data.batches import ScoresTable
from scopefl.data.scores_file import ScoresFile
from scopefl.errors import FingerprintError, RefusedError, ScopeError
from scopefl.federation import call as calls
from scopefl.federation.call import Call, verify_all
from scopefl.federation.secure_sum import Roster
from scopefl.federation.sharing import share_parts
from scopefl.federation.site_keys import SiteKeys


def answer(
    file: ScoresFile | ScoresTable,
    call: Call,
    site: SiteKeys,
    mode: str,
    *,
    roster: Roster | None = None,
    specimens: Sequence[str] | None = None,
) -> bytes:
    """Give the signed message for a call, entered in the site's ledger; `mode` is its consent."""
    if mode != call.terms.mode:
        raise RefusedError(
            f"this site agreed to {mode} and the call asks for {call.terms}; nothing was shared: "
            "agree to the call's mode with --mode, or ask for another call"
        )
    if file.fingerprint.hex() != call.fingerprint:
        raise FingerprintError(
            f"the call wants scores of kit {call.fingerprint}, these are of "
            f"{file.fingerprint.hex()}; score again with the coordinator's kit"
        )
    call.name_of(calls.public_of(site.key))
    key = None if roster is None else site.masking_key(call, roster)
    content = share_file(file, call.terms, specimens, key=key, roster=roster)
    message = calls.sign(content, "profile", call, site.key)
    site.record(call, message, roster.attempt if roster else 1)
    return message


def share_file(
    file: ScoresFile | ScoresTable,
    terms: Terms,
    specimens: Sequence[str] | None = None,
    **masks: Any,
) -> bytes:
    """Give the unsigned message of a scores file on these terms, tiles of a specimen capped."""
    parts: Iterable[tuple[Scores, Labels]] = file.parts
    if terms.noisy and specimens is not None:
        assert isinstance(file, ScoresFile), "specimens are known of all rows at once"
        taken = noisy.capped(specimens, [str(name) for name in file.ids], terms.tiles)
        parts = [(noisy.only(file.scores, taken), np.asarray(file.labels)[taken])]
    elif terms.noisy and terms.tiles > 1:
        raise ScopeError(
            f"at most {terms.tiles} images of a specimen may count, and nothing says which images "
            "are of one specimen; give --specimen with a pattern of the ids"
        )
    return share_parts(parts, len(file.classes), terms, file.fingerprint, **masks)


@dataclass(frozen=True)
class Transcript:
    """What a round did: its call, who sent what, and which policy came of it, all as SHA-256."""

    call: str
    messages: Mapping[str, str]
    policy: str

    def to_bytes(self) -> bytes:
        """Write as the one spelling of its JSON."""
        return canonical_json(dict(vars(self)))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Transcript":
        """Read what `to_bytes` wrote."""
        try:
            found = cls(**json.loads(data))
            whole = found.to_bytes() == data and isinstance(found.messages, dict)
        except (TypeError, ValueError, RecursionError):
            whole = False
        if not whole:
            raise ScopeError("this is not a transcript as scope writes it; ask for it again")
        return found


def conclude(
    messages: Sequence[bytes], call: Call, *, gamma: float = 1.0, rule: str = "sum"
) -> tuple[Agreement, Transcript]:
    """Merge the answers to a call; give the policy and the transcript that goes with it."""
    admitted = calls.admit(messages, call)
    missing = [name for name in call.sites if name not in admitted]
    if missing and not call.terms.masked:
        raise RefusedError(
            f"{', '.join(missing)} did not answer; wait, or open a call without them"
        )
    declared = sum(member.images for member in call.sites.values())
    agreement = agree(
        list(admitted.values()),
        names=list(admitted),
        expected=len(call.sites),
        gamma=gamma,
        max_count=MAX_COUNT if call.terms.noisy else declared,
        rule=rule,
    )
    agreement = replace(agreement, version=max(call.round, 1))
    sent = {calls.verify(m, "profile", call).site: _sha(m) for m in messages}
    return agreement, Transcript(call.digest.hex(), sent, _sha(agreement.to_bytes()))


def receipt(policy: bytes, transcript: Transcript, call: Call, site: SiteKeys) -> bytes:
    """Check what the coordinator sent back against what this site sent; sign its hash."""
    name = call.name_of(calls.public_of(site.key))
    if transcript.call != call.digest.hex() or transcript.policy != _sha(policy):
        raise RefusedError("the policy is not that of the transcript and the call; do not use it")
    sent = [one.message for one in site.spent if one.call == call.digest.hex()]
    if transcript.messages.get(name) not in sent:
        raise RefusedError(
            f"the transcript does not hold what {name} sent; ask the coordinator why"
        )
    agreement = Agreement.from_bytes(policy)
    if agreement.terms != call.terms or agreement.fingerprint.hex() != call.fingerprint:
        raise RefusedError(
            f"the call promised {call.terms} and the policy was made on {agreement.terms}; "
            "do not use it"
        )
    if agreement.sites != len(transcript.messages):
        raise RefusedError("the policy counts other sites than the transcript; do not use it")
    return calls.sign(transcript.to_bytes(), "receipt", call, site.key)


def compare(receipts: Sequence[bytes], call: Call) -> str:
    """Give the hash of the policy that all these sites were told, or say who was told another."""
    signed = verify_all(receipts, "receipt", call)
    told = {name: Transcript.from_bytes(content).policy for name, content in signed.items()}
    first, *others = told.items()
    for name, policy in others:
        if policy != first[1]:
            raise RefusedError(
                f"{first[0]} and {name} were told different policies ({first[1][:16]} and "
                f"{policy[:16]}); use neither, and ask the coordinator"
            )
    return first[1]


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
