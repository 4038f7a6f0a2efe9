"""Masks that cancel: pairs of sites agree on numbers that one adds and the other takes away.

X25519 between each pair, HKDF-SHA256 bound to the whole roster, ChaCha20 as the stream of masks
over Z_2^64. Whoever adds all masked rows learns their total and nothing else of them.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import ChaCha20
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from numpy.typing import NDArray

from scopefl.core.envelope import Body, seal, unseal, varint
from scopefl.core.terms import MIN_SITES
from scopefl.errors import RefusedError

KEY = 32
MAX_SITES = 1 << 12
MAX_ATTEMPTS = 2
PURPOSE = b"scopefl secure-sum masks v1"


def public_of(private: X25519PrivateKey) -> bytes:
    """Give the public half, 32 bytes."""
    return private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


@dataclass(frozen=True)
class Roster:
    """Whose masks cancel: the call they answer (32 bytes), the attempt, and one key a site.

    The keys are in the order of the bytes, so that all sites hold the same roster.
    """

    call: bytes
    attempt: int
    keys: tuple[bytes, ...]

    @classmethod
    def of(
        cls, call: bytes, attempt: int, keys: Sequence[bytes], spent: Sequence[bytes] = ()
    ) -> "Roster":
        """Check and order the keys; `spent` are those of earlier attempts."""
        if len(keys) < MIN_SITES:
            raise RefusedError(
                f"secure-sum needs at least {MIN_SITES} sites, got {len(keys)}: with two, each "
                "could take its own part out of the total; wait for more or use local-dp"
            )
        if len(set(keys)) < len(keys) or set(keys) & set(spent):
            raise RefusedError("a key was used before; every attempt needs new keys of every site")
        if not 1 <= attempt <= MAX_ATTEMPTS:
            raise RefusedError(
                f"a round has at most {MAX_ATTEMPTS} attempts, got attempt {attempt}: the totals "
                "of more attempts would tell sites apart; open a new round"
            )
        return cls(call, attempt, tuple(sorted(keys)))

    @property
    def session(self) -> bytes:
        """Give the 32 bytes that name this roster; masks of other rosters do not cancel with it."""
        return hashlib.sha256(PURPOSE + self.to_bytes()).digest()

    def to_bytes(self) -> bytes:
        """Encode for the sites."""
        head = self.call + varint(self.attempt) + varint(len(self.keys))
        return seal(b"L", head + b"".join(self.keys))

    @classmethod
    def from_bytes(cls, data: bytes) -> "Roster":
        """Decode and check what `to_bytes` wrote."""
        fields = Body(unseal(b"L", data))
        call, attempt = fields.take(KEY), fields.varint(MAX_ATTEMPTS + 1)
        keys = [fields.take(KEY) for _ in range(fields.varint(MAX_SITES))]
        if fields.rest() or keys != sorted(keys):
            raise RefusedError("this roster is not as scope writes it; ask for it again")
        return cls.of(call, attempt, keys)


def masked(rows: NDArray[np.int64], private: X25519PrivateKey, roster: Roster) -> NDArray[np.int64]:
    """Give rows (R, C) with this site's masks added, over Z_2^64. Use a key once only."""
    own = public_of(private)
    if own not in roster.keys:
        raise RefusedError(
            "this site's key is not in the roster; send the coordinator the new offer, or ask for "
            "the roster of this attempt"
        )
    total = rows.astype(np.uint64)
    for key in roster.keys:
        if key != own:
            mask = _mask(private, key, roster.session, rows.size).reshape(rows.shape)
            # The site of the lower key adds, the other takes away: over Z_2^64 they cancel.
            total = total + mask if own < key else total - mask
    return total.astype(np.int64)


def _mask(private: X25519PrivateKey, other: bytes, session: bytes, size: int) -> NDArray[np.uint64]:
    try:
        shared = private.exchange(X25519PublicKey.from_public_bytes(other))
    except ValueError:
        raise RefusedError("the roster holds a key that is none; ask for it again") from None
    key = HKDF(hashes.SHA256(), KEY, salt=session, info=PURPOSE).derive(shared)
    # The key is new for each pair and roster, so that the stream may start at nonce 0.
    stream = Cipher(ChaCha20(key, bytes(16)), mode=None).encryptor()
    return np.frombuffer(stream.update(bytes(8 * size)), "<u8").astype(np.uint64)
