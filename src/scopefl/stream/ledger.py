"""The rows of a stream's state: every image once, and a profile that is always their exact sum."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from scopefl.core.privacy import where
from scopefl.core.profile import Profile
from scopefl.core.scores import Labels, Scores, residual
from scopefl.stream.state import State

PAGE = 4096


class Row(NamedTuple):
    """One image: what it scored or why it did not, how its file looked, and when it came.

    `chance` is RS - S_neg under a wrong label, for the verdict on the encoder; `number` counts
    arrivals; `fate` is a place in FATES; `told` numbers the publication it came into, if any; what
    is not `stored` is in the sums, and selected no more.
    """

    id: str
    path: str | None
    label: int | None
    key: bytes | None = None
    rs: float | None = None
    s_neg: float | None = None
    rival: int | None = None
    chance: float | None = None
    reason: str | None = None
    look: bytes = b""
    seen: int = 0
    number: int = 0
    fate: int | None = None
    told: int | None = None
    stored: int = 1


SELECT = f"select {', '.join(Row._fields)} from images"  # noqa: S608
INSERT = f"insert or replace into images values ({', '.join('?' * len(Row._fields))})"  # noqa: S608


def rows_where(state: State, condition: str, *values: object) -> list[Row]:
    """Give the rows that meet a condition, which this program wrote."""
    return [Row(*row) for row in state.ask(f"{SELECT} where {condition}", *values)]


def all_rows(state: State) -> Iterator[Row]:
    """Give every row in the order of ids, a page at a time."""
    last = ""
    while page := rows_where(state, "id > ? order by id limit ?", last, PAGE):
        yield from page
        last = page[-1].id


def stored_rows(state: State) -> list[Row]:
    """Give the rows that are selected from, in the order of ids."""
    return rows_where(state, "stored order by id")


def looks(state: State) -> Iterator[tuple[str, bytes, int]]:
    """Give every id that was met, in order, how its file looked then, and whether it is stored."""
    question = (
        "select id, look, stored from images where id > ?1 union all "
        "select id, look, 0 from passed where id > ?1 order by id limit ?2"
    )
    last = ""
    while page := state.ask(question, last, PAGE):
        yield from page
        last = page[-1][0]


def scores_of(rows: Sequence[Row]) -> Scores:
    """Give the scores of rows that have some."""
    rs, s_neg = (
        np.array([getattr(row, name) for row in rows], np.float32) for name in ("rs", "s_neg")
    )
    return Scores(rs, residual(rs), s_neg, np.array([row.rival for row in rows], np.int32))


def labels_of(rows: Sequence[Row]) -> Labels:
    """Give the class numbers of rows that have scores."""
    return np.array([row.label for row in rows], np.int32)


def profile_of(rows: Iterable[Row], n_classes: int) -> Profile:
    """Sum up the rows that have scores."""
    scored = [row for row in rows if row.key is not None]
    return Profile.of(scores_of(scored), labels_of(scored), n_classes)


def enter(state: State, rows: Iterable[Row]) -> list[Row]:
    """Enter what arrived, inside a change, and give what is new: numbered, in the profile once.

    An image that came again under its id replaces what it was; the same content changes nothing.
    """
    arrived = {row.id: row for row in rows if not withheld(state, row.id)}
    before = {row.id: row for row in _present(state, list(arrived))}
    fresh = [row for row in arrived.values() if not _same(before.get(row.id), row)]
    state.tell(
        "update images set look = ? where id = ?", [(row.look, row.id) for row in arrived.values()]
    )
    take_out(state, [before[row.id] for row in fresh if row.id in before])
    number, seen = state.about("number", 0), state.about("seen", 0)
    seen = max([seen, *(row.seen for row in fresh)])
    if not fresh:
        return []
    fresh = [
        row._replace(number=number + place, seen=seen) for place, row in enumerate(fresh, start=1)
    ]
    state.set_about("number", number + len(fresh))
    state.set_about("seen", seen)
    state.set_about("changes", state.about("changes", 0) + 1)
    state.tell("delete from passed where id = ?", [(row.id,) for row in fresh])
    state.tell(INSERT, fresh)
    state.profile = state.profile + profile_of(fresh, state.n_classes)
    return fresh


def take_out(state: State, rows: Sequence[Row]) -> None:
    """Take rows out of the ledger and, exactly, out of the profile, inside a change."""
    if rows:
        state.set_about("changes", state.about("changes", 0) + 1)
        state.tell("delete from images where id = ?", [(row.id,) for row in rows])
        state.profile = state.profile - profile_of(rows, state.n_classes)
        told = [(row.label, row.told) for row in rows if row.told is not None]
        state.tell(
            "insert into leaving values (?, ?, 1) "
            "on conflict (label, told) do update set gone = gone + 1",
            told,
        )


def let_go(state: State, rows: Sequence[Row]) -> None:
    """Take out what the window leaves behind; its files are not taken again unless they change."""
    state.tell("insert or replace into passed values (?, ?)", [(row.id, row.look) for row in rows])
    take_out(state, rows)


def leave_to_the_sums(state: State, ids: Sequence[str]) -> None:
    """Keep no more of these than the sums hold, if they are not in the store; inside a change.

    Their files are gone. What comes again under such a name is new.
    """
    rows = [row for row in _present(state, ids) if not row.stored]
    names = [(one,) for one in ids]
    state.tell("delete from passed where id = ?", names)
    state.tell("delete from images where id = ? and not stored", names)
    state.beyond = state.beyond + profile_of(rows, state.n_classes)
    state.tell(
        "insert into beyond values (?, ?, 1) "
        "on conflict (label, told) do update set held = held + 1",
        [(row.label, row.told or 0) for row in rows],
    )


def take_out_beyond(state: State, label: int) -> int:
    """Take out of the sums what they alone hold of a class, inside a change; say how many."""
    one_class = np.arange(state.n_classes) == label
    gone = where(state.beyond, one_class)
    state.beyond, state.profile = state.beyond - gone, state.profile - gone
    state.tell(
        "insert into leaving select label, told, held from beyond where label = ? and told > 0 "
        "on conflict (label, told) do update set gone = gone + excluded.gone",
        [(label,)],
    )
    state.tell("delete from beyond where label = ?", [(label,)])
    return int(gone.count[label])


def withhold(state: State, rows: Sequence[Row]) -> None:
    """Take out what is asked to be forgotten; its name is never taken again, nor readable here."""
    state.tell("insert or ignore into withheld values (?)", [(_digest(row.id),) for row in rows])
    take_out(state, rows)


def withheld(state: State, name: str) -> bool:
    """Say whether an id was asked to be forgotten."""
    return bool(state.ask("select 1 from withheld where name = ?", _digest(name)))


def check_sums(state: State) -> None:
    """Refuse a state whose profile is not the sum of its rows and of what is beyond them."""
    whole, page = state.beyond, []
    for row in all_rows(state):
        page.append(row)
        if len(page) == PAGE:
            whole, page = whole + profile_of(page, state.n_classes), []
    if whole + profile_of(page, state.n_classes) != state.profile:
        raise state.unusable("its sums are not those of its images")


def _digest(name: str) -> bytes:
    return hashlib.blake2b(name.encode(), digest_size=16).digest()


def _present(state: State, ids: Sequence[str]) -> list[Row]:
    found: list[Row] = []
    for start in range(0, len(ids), 500):
        some = ids[start : start + 500]
        found += rows_where(state, f"id in ({', '.join('?' * len(some))})", *some)
    return found


def _same(old: Row | None, new: Row) -> bool:
    return old is not None and (old.key, old.label, old.reason) == (new.key, new.label, new.reason)
