"""The state of a stream on disk: one SQLite file that each change alters whole or not at all."""

import fcntl
import json
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from scopefl.core.policy import check_same_kit
from scopefl.core.profile import Profile
from scopefl.errors import RefusedError, ScopeError

FILE, LOCK = "stream.db", "watch.lock"
VERSION = 1
PATIENCE = 60.0
"""Seconds that one process waits for another's change to end."""
TABLES = {
    "about": "CREATE TABLE about (name text primary key, value blob) without rowid",
    "images": (
        "CREATE TABLE images (id text primary key, path text, label integer, key blob, rs real, "
        "s_neg real, rival integer, chance real, reason text, look blob, seen integer, "
        "number integer, fate integer, told integer, stored integer) without rowid"
    ),
    "arrivals": "CREATE UNIQUE INDEX arrivals on images (number)",
    "passed": "CREATE TABLE passed (id text primary key, look blob) without rowid",
    "withheld": "CREATE TABLE withheld (name blob primary key) without rowid",
    "leaving": (
        "CREATE TABLE leaving (label integer, told integer, gone integer, "
        "primary key (label, told)) without rowid"
    ),
    "beyond": (
        "CREATE TABLE beyond (label integer, told integer, held integer, "
        "primary key (label, told)) without rowid"
    ),
}
"""images: what is in the sums, in the store or not; passed: files the window let go; withheld:
names that were asked to be forgotten, as digests; leaving: how many images of each publication are
gone and told still; beyond: how many are in the sums and nowhere else, by publication (0: none)."""
RULES = ("journal_mode=delete", "synchronous=extra", "secure_delete=on", "trusted_schema=off")
"""A rollback journal, which file systems of clusters can lock where a write-ahead log needs shared
memory; on disk, the folder too, before a change counts as made; nothing readable left behind."""


@dataclass(frozen=True)
class Owner:
    """Whose state it is: the kit and rules that score, and the classes they score."""

    fingerprint: bytes
    classes: tuple[str, ...]


class State:
    """An open state folder; nothing of it is kept in memory, so processes may take turns."""

    def __init__(self, folder: Path, owner: Owner | None = None) -> None:
        """Open a state, or begin one for `owner`; without an owner it must be there."""
        self.folder, self.path = folder, folder / FILE
        if owner is None and not self.path.exists():
            raise ScopeError(f"{folder} holds no state of scope watch; give the folder of --state")
        with self._speaking():
            folder.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, PATIENCE, isolation_level=None)
            for rule in RULES:
                self._db.execute(f"pragma {rule}")
        self.owner = self._begun(owner)

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def __enter__(self) -> "State":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Be the only one who watches into this state; the lock dies with the process."""
        with self._speaking():
            lock = (self.folder / LOCK).open("ab")
        with lock:
            _lock(lock, self.folder)
            yield

    @contextmanager
    def change(self) -> Iterator[None]:
        """Make what happens inside one change: all of it is on disk afterwards, or none."""
        with self._speaking():
            self._db.execute("begin immediate")
            try:
                yield
                self._db.execute("commit")
            finally:
                if self._db.in_transaction:
                    self._db.execute("rollback")

    def ask(self, question: str, *values: Any) -> list[Any]:
        """Give all rows that answer a question."""
        with self._speaking():
            return self._db.execute(question, values).fetchall()

    def tell(self, statement: str, rows: Sequence[Sequence[Any]]) -> None:
        """Carry out a statement for every row, inside a change."""
        self._db.executemany(statement, rows)

    def about(self, name: str, default: Any = None) -> Any:
        """Give one value of the state's own."""
        found = self.ask("select value from about where name = ?", name)
        return found[0][0] if found else default

    def set_about(self, name: str, value: Any) -> None:
        """Set one value of the state's own, inside a change."""
        self.tell("insert or replace into about values (?, ?)", [(name, value)])

    @property
    def profile(self) -> Profile:
        """Give the sums over all images that are held."""
        return Profile.from_bytes(self.about("profile"))

    @profile.setter
    def profile(self, profile: Profile) -> None:
        self.set_about("profile", profile.to_bytes(self.owner.fingerprint))

    @property
    def beyond(self) -> Profile:
        """Give the sums over those images of the profile that no row tells of any more."""
        found = self.about("beyond")
        return Profile.empty(self.n_classes) if found is None else Profile.from_bytes(found)

    @beyond.setter
    def beyond(self, profile: Profile) -> None:
        self.set_about("beyond", profile.to_bytes(self.owner.fingerprint))

    @property
    def n_classes(self) -> int:
        """Count the classes."""
        return len(self.owner.classes)

    def unusable(self, why: object) -> ScopeError:
        """Say that the state is damaged, and the way out."""
        return ScopeError(
            f"the state {self.folder} is damaged ({why}): move it away and run the same scope "
            "watch again, which rebuilds it from the images and the cached embeddings; what scope "
            "forget took out must be forgotten again"
        )

    def _begun(self, owner: Owner | None) -> Owner:
        if owner is not None and not self.ask("select 1 from sqlite_master"):
            self.owner = owner
            with self.change():
                for statement in TABLES.values():
                    self._db.execute(statement)
                self.set_about("version", VERSION)
                self.set_about("fingerprint", owner.fingerprint)
                self.set_about("classes", json.dumps(owner.classes))
                self.profile = Profile.empty(self.n_classes)
        found = self._checked()
        if owner is not None:
            check_same_kit(
                found.fingerprint, owner.fingerprint, f"the state {self.folder}", "--kit"
            )
        return found

    def _checked(self) -> Owner:
        """Refuse a file that is damaged, foreign, or of another version."""
        damage = [row[0] for row in self.ask("pragma quick_check(1)")]
        tables = dict(self.ask("select name, sql from sqlite_master where sql is not null"))
        if damage != ["ok"] or tables != TABLES:
            raise self.unusable(damage[0] if damage != ["ok"] else "it has other tables")
        if self.about("version") != VERSION:
            raise ScopeError(
                f"{self.folder} has format version {self.about('version')} and this scopefl reads "
                f"{VERSION}; install the scopefl that wrote it or begin a new state"
            )
        try:
            return Owner(bytes(self.about("fingerprint")), tuple(json.loads(self.about("classes"))))
        except (TypeError, ValueError) as error:
            raise self.unusable(error) from error

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        """Turn what SQLite and the disk say into a sentence."""
        try:
            yield
        except sqlite3.OperationalError as error:
            if "locked" in str(error):
                raise RefusedError(
                    f"another process has been changing {self.folder} for {PATIENCE:.0f} s; "
                    "wait for it to end"
                ) from error
            if "malformed" in str(error):
                raise self.unusable(error) from error
            raise ScopeError(
                f"{self.folder} could not be read or written ({error}), what was there before is "
                "intact; free some space or choose another place"
            ) from error
        except sqlite3.DatabaseError as error:
            raise self.unusable(error) from error
        except OSError as error:
            raise ScopeError(f"{self.folder} cannot hold a state: {error.strerror}") from error


def _lock(lock: IO[bytes], folder: Path) -> None:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise RefusedError(
            f"{folder} is being watched into already; stop that scope watch or give another --state"
        ) from None


def known_classes(folder: Path) -> tuple[str, ...] | None:
    """Give the classes of a state that was begun already; None where there is none."""
    if not (folder / FILE).exists():
        return None
    with State(folder) as state:
        return state.owner.classes
