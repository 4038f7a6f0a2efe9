"""A site's private folder: its signing key, its keys for attempts, and the epsilon it has spent."""

import fcntl
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from scopefl.core.envelope import varint
from scopefl.core.terms import Terms
from scopefl.data.files import read_bytes, write_bytes
from scopefl.errors import RefusedError, ScopeError
from scopefl.federation import call as calls
from scopefl.federation import secure_sum
from scopefl.federation.call import Call
from scopefl.federation.coordinator import write_secret
from scopefl.federation.secure_sum import MAX_ATTEMPTS, Roster

KEY, PUBLIC, LEDGER, LOCK = "site.key", "site.pub", "ledger.json", "ledger.lock"
LARGEST = 1 << 24


@dataclass(frozen=True)
class Spent:
    """One message that left: for which call and attempt, its hash, and the rho it cost."""

    call: str
    attempt: int
    mode: str
    message: str
    rho: float
    delta: float


@dataclass(frozen=True)
class SiteKeys:
    """The folder; nothing in it but `site.pub` ever leaves the site."""

    folder: Path

    @classmethod
    def new(cls, folder: Path, name: str, epsilon: float | None = None) -> "SiteKeys":
        """Make the folder, with a limit on the epsilon of all rounds together if one is given."""
        if folder.exists() and any(folder.iterdir()):
            raise ScopeError(f"{folder} must be new or empty; keys are never overwritten")
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        key = Ed25519PrivateKey.generate()
        write_secret(folder / KEY, key.private_bytes_raw())
        public = {"name": name, "key": calls.public_of(key).hex()}
        write_bytes(folder / PUBLIC, json.dumps(public).encode())
        site = cls(folder)
        site._write([], epsilon)
        return site

    @property
    def key(self) -> Ed25519PrivateKey:
        """Give the key that signs."""
        return Ed25519PrivateKey.from_private_bytes(_secret(self.folder / KEY))

    @property
    def spent(self) -> list[Spent]:
        """Give every message that left, oldest first."""
        return [Spent(**one) for one in self._ledger()["messages"]]

    @property
    def limit(self) -> float | None:
        """Give the most epsilon all rounds together may spend."""
        found = self._ledger()["epsilon"]
        return None if found is None else float(found)

    def offer(self, call: Call, attempt: int = 1) -> bytes:
        """Make a new masking key for an attempt; give its public half, signed."""
        path = self._attempt(call, attempt)
        if not 1 <= attempt <= MAX_ATTEMPTS:
            raise RefusedError(
                f"a round has at most {MAX_ATTEMPTS} attempts, got attempt {attempt}; wait for a "
                "new call"
            )
        if path.exists() or any(self._same(one, call, attempt) for one in self.spent):
            raise RefusedError(
                f"this site has made a key for attempt {attempt} before; send that offer again, "
                f"or use --attempt {attempt + 1} if the coordinator starts anew"
            )
        key = X25519PrivateKey.generate()
        write_secret(path, key.private_bytes_raw())
        return calls.sign(varint(attempt) + secure_sum.public_of(key), "offer", call, self.key)

    def masking_key(self, call: Call, roster: Roster) -> X25519PrivateKey:
        """Give the key of the roster's attempt; `record` destroys it."""
        if roster.call != call.digest:
            raise RefusedError("this roster is of another call; ask for the roster of this one")
        path = self._attempt(call, roster.attempt)
        if not path.exists():
            raise RefusedError(
                f"there is no unused key for attempt {roster.attempt}: a key masks one profile and "
                "is then destroyed; make a new offer"
            )
        return X25519PrivateKey.from_private_bytes(_secret(path))

    def record(self, call: Call, message: bytes, attempt: int = 1) -> None:
        """Enter a message before it leaves, within the limit; destroy its masking key."""
        self.spend(call.digest, call.terms, message, attempt)
        self._attempt(call, attempt).unlink(missing_ok=True)

    def spend(self, call: bytes, terms: Terms, message: bytes, attempt: int = 1) -> None:
        """Enter a message to a call of this digest, and its epsilon, before it leaves."""
        with self._alone():
            if any((one.call, one.attempt) == (call.hex(), attempt) for one in self.spent):
                raise RefusedError(
                    f"this site has answered attempt {attempt} of this round already; "
                    "a second answer would tell what changed: send the first file again"
                )
            rho = self._cost(terms)
            digest = hashlib.sha256(message).hexdigest()
            entry = Spent(call.hex(), attempt, terms.mode, digest, rho, terms.delta)
            self._write([*self.spent, entry], self.limit)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        # Two answers at once would each find the other's epsilon unspent, and its key unused.
        with (self.folder / LOCK).open("wb") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def epsilon(self, rho: float = 0.0, delta: float = 1e-6) -> float:
        """Give the epsilon of all rounds so far, and of `rho` more."""
        from scopefl.federation.noise import epsilon_of

        deltas = [one.delta for one in self.spent if one.rho > 0]
        return epsilon_of(rho + sum(one.rho for one in self.spent), min([delta, *deltas]))

    def _cost(self, terms: Terms) -> float:
        if not terms.noisy:
            return 0.0
        from scopefl.federation.noise import rho_for

        rho = rho_for(terms.epsilon, terms.delta)
        total = self.epsilon(rho, terms.delta)
        if self.limit is not None and total > self.limit * (1 + 1e-6):
            raise RefusedError(
                f"this site may spend epsilon {self.limit:g} in all and would have spent "
                f"{total:.3g}; nothing was shared: take part in fewer rounds, or raise the limit "
                f"in {self.folder / LEDGER} knowingly"
            )
        return rho

    def _attempt(self, call: Call, attempt: int) -> Path:
        return self.folder / f"{call.digest.hex()[:16]}-{attempt}.key"

    def _same(self, one: Spent, call: Call, attempt: int) -> bool:
        return (one.call, one.attempt) == (call.digest.hex(), attempt)

    def _ledger(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(read_bytes(self.folder / LEDGER, LARGEST))
        return found

    def _write(self, spent: list[Spent], epsilon: float | None) -> None:
        text = {"epsilon": epsilon, "messages": [asdict(one) for one in spent]}
        write_bytes(self.folder / LEDGER, json.dumps(text, indent=1).encode())


def _secret(path: Path) -> bytes:
    try:
        return read_bytes(path, LARGEST)
    except ScopeError as error:
        raise ScopeError(f"{error}; make a folder with: scope keys new") from None
