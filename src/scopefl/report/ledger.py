"""What left a site: its message byte by byte, and what that could reveal."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scopefl.core import noisy, privacy
from scopefl.core.envelope import varint
from scopefl.core.policy import Agreement, check_same_kit
from scopefl.core.profile import Profile
from scopefl.core.release import SESSION, Release
from scopefl.core.terms import OPEN, Terms
from scopefl.federation.audit import PROMISES
from scopefl.report.collection import Site
from scopefl.report.words import learned, revealed

MOST_ROWS = 1000


@dataclass(frozen=True)
class Field:
    """A run of bytes of the message and what it says."""

    name: str
    bytes: bytes
    says: str


@dataclass(frozen=True)
class ClassRow:
    """What the message says of one class, and what can be worked out from that."""

    name: str
    count: int
    mean: tuple[float, ...]
    sigma: tuple[float, ...]
    reveals: str
    exact: bool


@dataclass(frozen=True)
class Sent:
    """What one site sent: `fields` and `classes` are empty where it went masked or noisy."""

    client: str
    size: int
    fields: Sequence[Field]
    classes: Sequence[ClassRow]
    present: int
    exposed_classes: int
    exposed_images: int
    centroid_classes: int


@dataclass(frozen=True)
class Received:
    """What came back to the sites."""

    size: int
    sites: int
    expected: int
    gamma: float
    learned: str
    sole: Sequence[str]
    terms: str
    promise: str


def sent(site: Site, agreement: Agreement | None = None) -> Sent:
    """Make the message of a site again from its coreset, and read it as its receiver would."""
    terms = OPEN if agreement is None else agreement.terms
    file = site.coreset
    whole = file.profile
    visual = site.coreset.settings.get("prototypes") == "visual"
    centroid_classes = int((whole.count > 0).sum()) if visual else 0
    if agreement is not None and (terms.masked or terms.noisy):
        size = len(_unreadable(file.fingerprint, agreement))
        return Sent(site.client, size, [], [], 0, 0, 0, centroid_classes)
    profile = privacy.fold(whole, terms.min_cell)
    message = _message(profile, file.fingerprint, terms)
    count = profile.count
    small = (count > 0) & (count <= 3)
    rows = np.flatnonzero(count)
    rows = rows[np.argsort(count[rows], kind="stable")][:MOST_ROWS]
    return Sent(
        site.client,
        len(message),
        _fields(message, profile, file.fingerprint, terms),
        [_row(file.classes[c], profile, c) for c in rows.tolist()],
        int((count > 0).sum()),
        int(small.sum()),
        int(count[small].sum()),
        centroid_classes,
    )


def _message(profile: Profile, fingerprint: bytes, terms: Terms) -> bytes:
    if terms == OPEN:
        return profile.to_bytes(fingerprint)
    return Release(terms, fingerprint, privacy.to_rows(profile)[:-1]).to_bytes()


def _unreadable(fingerprint: bytes, agreement: Agreement) -> bytes:
    """Give a message as long as the one that was sent, whose numbers nobody can make again."""
    terms = agreement.terms
    n_rows = noisy.ROWS if terms.noisy else privacy.ROWS
    rows = np.zeros((n_rows, agreement.profile.n_classes), np.int64)
    return Release(terms, fingerprint, rows, bytes(SESSION), agreement.sites, 1.0).to_bytes()


def received(agreement: Agreement, sites: Sequence[Site]) -> Received:
    """Describe the policy, which must be of the kit of the coresets."""
    first = sites[0]
    check_same_kit(first.coreset.fingerprint, agreement.fingerprint, first.client, "the policy")
    sole = np.flatnonzero(agreement.holders == 1).tolist() if agreement.sites > 1 else []
    return Received(
        len(agreement.to_bytes()),
        agreement.sites,
        agreement.expected,
        agreement.gamma,
        learned(agreement.sites, noisy=agreement.terms.noisy),
        [first.coreset.classes[c] for c in sole],
        str(agreement.terms),
        PROMISES[agreement.terms.mode],
    )


def _row(name: str, profile: Profile, c: int) -> ClassRow:
    count = int(profile.count[c])
    mean, sigma = profile.mean[:, c].tolist(), profile.sigma[:, c].tolist()
    return ClassRow(name, count, tuple(mean), tuple(sigma), revealed(count), count <= 3)


def _fields(message: bytes, profile: Profile, fingerprint: bytes, terms: Terms) -> list[Field]:
    present = int((profile.count > 0).sum())
    heads = [
        ("magic", 2, "this is a message of scopefl"),
        ("kind", 1, "a profile"),
        ("version", 1, "of the format"),
        ("terms", 0 if terms == OPEN else len(terms.to_body()), f"the mode: {terms}"),
        ("classes", len(varint(profile.n_classes)), f"there are {profile.n_classes:,} classes"),
        ("length", 1, "bytes of fingerprint that follow"),
        ("fingerprint", len(fingerprint), "which kit scored: class list and encoder"),
    ]
    fields, at = [], 0
    for name, size, says in heads:
        if size:
            fields.append(Field(name, message[at : at + size], says))
        at += size
    cells = f"which {present:,} classes are here; for each its count, and six sums of its scores"
    fields.append(Field("counts and sums", message[at:-4], cells))
    fields.append(Field("checksum", message[-4:], "CRC-32 of all before it"))
    return fields
