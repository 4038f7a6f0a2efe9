"""A coordinator's call for profiles: which round, on which terms, of which sites; and who answered.

The call holds a nonce and every answer signs the call's digest, so that nothing of another round
is taken, whatever the clocks of the sites say.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from scopefl.core.envelope import LARGEST, Body, seal, unseal, varint
from scopefl.core.fingerprint import canonical_json
from scopefl.core.release import Release
from scopefl.core.terms import MIN_SITES, Terms
from scopefl.data.files import read_bytes
from scopefl.errors import FingerprintError, RefusedError, ScopeError

VERSION = 1
DIGEST = 32
SIGNATURE = 64
MAX_CALL = 1 << 22
PURPOSES = ("profile", "offer", "receipt", "centroids")
CONTEXT = b"scopefl signed message v1\0"


@dataclass(frozen=True)
class Member:
    """A site of a call: its Ed25519 key in hex, and the most images it declared to hold."""

    key: str
    images: int


@dataclass(frozen=True)
class Call:
    """Run, round and a nonce nobody used before; the kit, the terms, and the sites by name."""

    run: str
    round: int
    nonce: str
    fingerprint: str
    terms: Terms
    sites: Mapping[str, Member]

    def to_bytes(self) -> bytes:
        """Write as the one spelling of its JSON."""
        return canonical_json({"kind": "scope call", "version": VERSION, **asdict(self)})

    @classmethod
    def from_bytes(cls, data: bytes) -> "Call":
        """Read and check what `to_bytes` wrote."""
        try:
            found: dict[str, Any] = json.loads(data)
            if found.pop("kind") != "scope call" or found.pop("version") != VERSION:
                raise ValueError
            found["terms"] = Terms(**found["terms"])
            found["sites"] = {str(n): Member(**one) for n, one in found["sites"].items()}
            call = cls(**found)
            canonical = call.to_bytes() == data
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            canonical = False
        if not canonical:
            raise ScopeError("this is not a call as scope writes it; ask the coordinator for it")
        call._check()
        return call

    def _check(self) -> None:
        self.terms.check()
        if self.terms.masked and len(self.sites) < MIN_SITES:
            raise RefusedError(
                f"{self.terms.mode} needs at least {MIN_SITES} sites, got {len(self.sites)}; "
                "invite more or use local-dp"
            )
        if len({one.key for one in self.sites.values()}) < len(self.sites):
            raise RefusedError("each site of a call needs a key of its own; two have the same")

    @property
    def digest(self) -> bytes:
        """Give the 32 bytes that every answer signs."""
        return hashlib.sha256(self.to_bytes()).digest()

    def name_of(self, key: bytes) -> str:
        """Give the site that has this key."""
        for name, member in self.sites.items():
            if member.key == key.hex():
                return name
        raise RefusedError(
            f"the key {key.hex()[:16]} signed this and is of no site of the call; "
            "ask that site for its .pub file and open a new call"
        )


def read_call(path: Path) -> Call:
    """Read a call from its file."""
    return Call.from_bytes(read_bytes(path, MAX_CALL))


def public_of(key: Ed25519PrivateKey) -> bytes:
    """Give the public half, 32 bytes."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def sign(content: bytes, purpose: str, call: Call, key: Ed25519PrivateKey) -> bytes:
    """Wrap a message: the call it answers, what for, whose it is, and a signature over all."""
    body = call.digest + varint(PURPOSES.index(purpose)) + public_of(key)
    body += varint(len(content)) + content
    return seal(b"S", body + key.sign(CONTEXT + body))


@dataclass(frozen=True)
class Answer:
    """What a site of the call signed."""

    site: str
    content: bytes


def verify(message: bytes, purpose: str, call: Call) -> Answer:
    """Give a site's signed message of this call and purpose, or say why it is not one."""
    fields = Body(unseal(b"S", message))
    digest, what = fields.take(DIGEST), fields.varint(len(PURPOSES) - 1)
    key, content = fields.take(DIGEST), fields.take(fields.varint(LARGEST))
    signature = fields.rest()
    if digest != call.digest:
        raise RefusedError(
            f"this answers another call than round {call.round} of run {call.run!r}; "
            "an old message is not taken again: make it anew for this call"
        )
    site = call.name_of(key)
    if PURPOSES[what] != purpose:
        raise RefusedError(f"{site} must send a signed {purpose}, got a signed {PURPOSES[what]}")
    signed = CONTEXT + unseal(b"S", message)[: -len(signature)]
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, signed)
    except (InvalidSignature, ValueError):
        raise RefusedError(f"the signature of {site} does not fit; ask {site} again") from None
    return Answer(site, content)


def verify_all(messages: Sequence[bytes], purpose: str, call: Call) -> dict[str, bytes]:
    """Give what each site signed, by name; refuse a site that came twice."""
    found: dict[str, bytes] = {}
    for message in messages:
        answer = verify(message, purpose, call)
        if answer.site in found:
            raise RefusedError(f"{answer.site} answered twice; leave one {purpose} out")
        found[answer.site] = answer.content
    return found


def admit(messages: Sequence[bytes], call: Call) -> dict[str, bytes]:
    """Give the profiles that answer the call, by site: its kit, its terms, its declared size."""
    found = verify_all(messages, "profile", call)
    for site, content in found.items():
        release = Release.from_bytes(content)
        if release.fingerprint.hex() != call.fingerprint:
            raise FingerprintError(
                f"{site} scored with kit {release.fingerprint.hex() or 'none'} and the call names "
                f"{call.fingerprint}; score again with the coordinator's kit"
            )
        if release.terms != call.terms:
            raise RefusedError(
                f"{site} shared on the terms {release.terms} and the call says {call.terms}; "
                "nobody's terms are changed on the way: send again"
            )
        images = 0 if call.terms.masked else release.images
        if images > call.sites[site].images:
            raise RefusedError(
                f"{site} declared at most {call.sites[site].images} images and claims {images}; "
                "ask the site, or open a call that says so"
            )
    return found
