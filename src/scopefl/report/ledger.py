"""What left a site: its profile byte by byte, and what that could reveal."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from scopefl.core.envelope import varint
from scopefl.core.policy import Agreement, check_same_kit
from scopefl.core.profile import Profile
from scopefl.report.collection import Site
from scopefl.report.words import learned, revealed

MOST_ROWS = 1000
MOST_HEX = 2048


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
    """What one site sent."""

    client: str
    message: bytes
    fields: Sequence[Field]
    classes: Sequence[ClassRow]
    present: int
    exposed_classes: int
    exposed_images: int


@dataclass(frozen=True)
class Received:
    """What came back to the sites."""

    size: int
    sites: int
    expected: int
    gamma: float
    learned: str
    sole: Sequence[str]


def sent(site: Site) -> Sent:
    """Make the message of a site again from its coreset, and read it as its receiver would."""
    file = site.coreset.scores_file
    profile = file.profile
    message = profile.to_bytes(file.fingerprint)
    count = profile.count
    small = (count > 0) & (count <= 3)
    rows = np.flatnonzero(count)
    rows = rows[np.argsort(count[rows], kind="stable")][:MOST_ROWS]
    return Sent(
        site.client,
        message,
        _fields(message, profile, file.fingerprint),
        [_row(file.classes[c], profile, c) for c in rows.tolist()],
        int((count > 0).sum()),
        int(small.sum()),
        int(count[small].sum()),
    )


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
        learned(agreement.sites),
        [first.coreset.classes[c] for c in sole],
    )


def _row(name: str, profile: Profile, c: int) -> ClassRow:
    count = int(profile.count[c])
    mean, sigma = profile.mean[:, c].tolist(), profile.sigma[:, c].tolist()
    return ClassRow(name, count, tuple(mean), tuple(sigma), revealed(count), count <= 3)


def _fields(message: bytes, profile: Profile, fingerprint: bytes) -> list[Field]:
    n_classes = varint(profile.n_classes)
    sizes = {
        "magic": 2,
        "kind": 1,
        "version": 1,
        "classes": len(n_classes),
        "length": 1,
        "fingerprint": len(fingerprint),
    }
    says = {
        "magic": "this is a message of scopefl",
        "kind": "a profile",
        "version": "of the format",
        "classes": f"the vocabulary has {profile.n_classes:,} classes",
        "length": "bytes of fingerprint that follow",
        "fingerprint": "which kit scored: class list and encoder",
    }
    fields, at = [], 0
    for name, size in sizes.items():
        fields.append(Field(name, message[at : at + size], says[name]))
        at += size
    present = int((profile.count > 0).sum())
    cells = f"which {present:,} classes are here; for each its count, and six sums of its scores"
    fields.append(Field("counts and sums", message[at:-4], cells))
    fields.append(Field("checksum", message[-4:], "CRC-32 of all before it"))
    return fields
