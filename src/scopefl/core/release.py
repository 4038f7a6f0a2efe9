"""What a site sends in every mode but open: its terms, and its rows held back, masked or noisy."""

from dataclasses import dataclass
from struct import pack, unpack

import numpy as np
from numpy.typing import NDArray

from scopefl.core import noisy, privacy
from scopefl.core.cells import UNIT, decode_cells, encode_cells
from scopefl.core.envelope import Body, seal, unseal, varint
from scopefl.core.profile import MAX_CLASSES, MAX_COUNT, MAX_FINGERPRINT, Profile
from scopefl.core.terms import OPEN, Terms
from scopefl.errors import ScopeError

SESSION = 32
MAX_SITES = 1 << 20
CELLS = 7


@dataclass(frozen=True, eq=False)
class Release:
    """The rows (R, C) of one site on its terms.

    `session` names the roster whose `sites` masks cancel, `noise` is the deviation of what this
    site added, in units of 2^-20; both are empty where the mode has neither.
    """

    terms: Terms
    fingerprint: bytes
    rows: NDArray[np.int64]
    session: bytes = b""
    sites: int = 0
    noise: float = 0.0

    @property
    def n_classes(self) -> int:
        """Count the classes of the vocabulary."""
        return int(self.rows.shape[1])

    @property
    def profile(self) -> Profile:
        """Give the profile, where the rows are one."""
        return Profile(self.rows[0], self.rows[1:4], self.rows[4:7])

    @property
    def images(self) -> int:
        """Give the fewest images that all classes can hold together, where single sites show."""
        total = self.rows[0].sum(dtype=np.float64)
        if not self.terms.noisy:
            return int(total)
        surely = total - noisy.REACH * self.noise * np.sqrt(self.n_classes)
        return max(0, int(surely / UNIT))

    def to_bytes(self) -> bytes:
        """Encode for the coordinator."""
        head = self.terms.to_body() + varint(self.n_classes)
        head += varint(len(self.fingerprint)) + self.fingerprint
        if self.terms.masked:
            head += self.session + varint(self.sites)
        if self.terms.noisy:
            head += pack("<d", self.noise)
        return seal(b"R", head + self._payload())

    def _payload(self) -> bytes:
        if self.terms.masked or self.terms.noisy:
            return self.rows.astype("<i8").tobytes()
        return encode_cells(*self.profile.arrays)

    @classmethod
    def from_bytes(cls, data: bytes, max_count: int = MAX_COUNT) -> "Release":
        """Decode what `to_bytes` wrote, or an open profile; refuse what its terms do not allow."""
        if data[2:3] != b"R":
            profile, fingerprint = Profile.from_body(unseal(b"P", data), max_count)
            return cls(
                OPEN, fingerprint, np.concatenate([profile.count[None], *profile.arrays[1:]])
            )
        fields = Body(unseal(b"R", data))
        terms = Terms.from_body(fields)
        n_classes = fields.varint(MAX_CLASSES)
        fingerprint = fields.take(fields.varint(MAX_FINGERPRINT))
        session, sites = (
            (fields.take(SESSION), fields.varint(MAX_SITES)) if terms.masked else (b"", 0)
        )
        noise = unpack("<d", fields.take(8))[0] if terms.noisy else 0.0
        rows = _rows(fields.rest(), n_classes, terms)
        release = cls(terms, fingerprint, rows, session, sites, noise)
        release._check(max_count)
        return release

    def _check(self, max_count: int) -> None:
        if self.terms.noisy and not 0 < self.noise < 2.0**60:
            raise ScopeError(f"a noisy profile must tell its noise, got {self.noise}; make it anew")
        if self.terms.noisy and not self.terms.masked:
            noisy.check(self.rows, self.noise, max_count)
        if self.terms.mode == "open":
            raise ScopeError("an open profile travels as a profile; make it again")
        if not (self.terms.masked or self.terms.noisy):
            self.profile.check(max_count)
            small = (self.rows[0] > 0) & (self.rows[0] < self.terms.min_cell)
            if small.any():
                raise ScopeError(
                    f"{self.terms} was promised but class {int(small.argmax())} holds "
                    f"{self.rows[0][small.argmax()]}; make the profile again"
                )


def _rows(data: bytes, n_classes: int, terms: Terms) -> NDArray[np.int64]:
    if not (terms.masked or terms.noisy):
        count, sums, squares = decode_cells(data, n_classes)
        return np.concatenate([count[None], sums, squares])
    n_rows = noisy.ROWS if terms.noisy else privacy.ROWS
    if len(data) != 8 * n_rows * n_classes:
        raise ScopeError(
            f"{terms.mode} sends {8 * n_rows} bytes a class, {8 * n_rows * n_classes} in all, got "
            f"{len(data)}; send it again"
        )
    return np.frombuffer(data, "<i8").astype(np.int64).reshape(n_rows, n_classes)
