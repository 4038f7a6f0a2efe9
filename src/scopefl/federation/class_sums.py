"""Centroids under a call in secure-sum: the sums of embeddings that nobody sees of a single site.

A class of one image would be its embedding. So the sums are masked like a profile's integers, and
only classes that three sites hold are told.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core.envelope import Body, seal, unseal, varint
from scopefl.core.terms import MIN_SITES
from scopefl.errors import FingerprintError, RefusedError
from scopefl.federation import call as calls
from scopefl.federation.call import Call
from scopefl.federation.secure_sum import MAX_SITES, Roster, masked
from scopefl.federation.site_keys import SiteKeys
from scopefl.vision.prototypes import MAX_CLASSES, MAX_DIM, UNIT, Centroids

KIND = b"V"
PURPOSE = "centroids"
SESSION, MARK = 32, 8


@dataclass(frozen=True, eq=False)
class _Masked:
    """One site's rows (D + 2, C): count, sums, and 1 where it holds the class."""

    mark: bytes
    session: bytes
    sites: int
    rows: NDArray[np.int64]

    def to_bytes(self) -> bytes:
        high, wide = self.rows.shape
        head = self.mark + self.session + varint(self.sites) + varint(high) + varint(wide)
        return seal(KIND, head + self.rows.astype("<i8").tobytes())

    @classmethod
    def from_bytes(cls, message: bytes) -> "_Masked":
        fields = Body(unseal(KIND, message))
        mark, session, sites = fields.take(MARK), fields.take(SESSION), fields.varint(MAX_SITES)
        high, wide = fields.varint(MAX_DIM + 2), fields.varint(MAX_CLASSES)
        data = fields.rest()
        if high < 3 or len(data) != 8 * high * wide:
            raise RefusedError("masked centroids must hold a row a dimension; make them again")
        rows = np.frombuffer(data, "<i8").astype(np.int64).reshape(high, wide)
        return cls(mark, session, sites, rows)

    @property
    def attempt(self) -> tuple[bytes, bytes, int, tuple[int, ...]]:
        """Give what must be equal of all sites."""
        return self.mark, self.session, self.sites, self.rows.shape


def share(found: Centroids, mark: bytes, call: Call, site: SiteKeys, roster: Roster) -> bytes:
    """Give a site's masked centroids, signed, entered in its ledger; `mark` is its kit's."""
    _check_call(call, mark)
    held = (found.count > 0).astype(np.int64)
    rows = np.concatenate([found.count[None], found.sums.T, held[None]])
    rows = masked(rows, site.masking_key(call, roster), roster)
    content = _Masked(mark, roster.session, len(roster.keys), rows).to_bytes()
    message = calls.sign(content, PURPOSE, call, site.key)
    site.record(call, message, roster.attempt)
    return message


def merge(messages: Sequence[bytes], call: Call) -> Centroids:
    """Add up what all sites of a roster signed; give the classes that three of them hold."""
    signed = calls.verify_all(messages, PURPOSE, call)
    read = {site: _Masked.from_bytes(content) for site, content in signed.items()}
    first, *others = read.values()
    _check_call(call, first.mark)
    if any(one.attempt != first.attempt for one in others) or len(read) != first.sites:
        raise RefusedError(
            f"the roster has {first.sites} sites and {len(read)} of them came ({', '.join(read)}), "
            "or not all of one attempt; their masks do not cancel: start a new attempt"
        )
    total = np.sum([one.rows for one in read.values()], axis=0)
    count, sums, holders = total[0], total[1:-1], total[-1]
    most = sum(member.images for member in call.sites.values())
    possible = (holders >= 0) & (holders <= len(read)) & (holders <= count) & (count <= most)
    possible &= np.abs(sums.astype(np.float64)).max(axis=0) <= count * float(UNIT)
    if not possible.all():
        raise RefusedError("the masked centroids do not add up; start a new attempt with new keys")
    told = holders >= MIN_SITES
    return Centroids(count * told, (sums * told).T)


def _check_call(call: Call, mark: bytes) -> None:
    if call.terms.mode != "secure-sum":
        raise RefusedError(
            f"centroids can be summed in secure-sum, the call asks for {call.terms}; open a call "
            "of their own"
        )
    if mark.hex() != call.fingerprint:
        raise FingerprintError(
            f"the call names the kit {call.fingerprint}, these centroids are of {mark.hex()}; "
            "embed with the coordinator's kit"
        )
