"""Taking images back out: those that are named, whole classes, or what a window leaves behind."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from scopefl.errors import ScopeError
from scopefl.stream.events import NS
from scopefl.stream.ledger import Row, let_go, rows_where, take_out_beyond, withhold
from scopefl.stream.state import State

SHOWN = 5
UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


def forget(state: State, ids: Sequence[str], classes: Sequence[str] = ()) -> int:
    """Take the named images and all of the named classes out, or nothing if one is unknown."""
    strange = [name for name in classes if name not in state.owner.classes]
    if strange:
        near = get_close_matches(strange[0], state.owner.classes, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise ScopeError(f"this stream has no class {strange[0]!r}{hint}")
    with state.change():
        rows = {row.id: row for one in ids for row in rows_where(state, "id = ?", one)}
        missing = [one for one in ids if one not in rows]
        if missing:
            more = f" and {len(missing) - SHOWN} more" if len(missing) > SHOWN else ""
            raise ScopeError(
                f"the stream holds no {', '.join(map(repr, missing[:SHOWN]))}{more}; nothing was "
                "forgotten"
            )
        beyond = 0
        for name in classes:
            label = state.owner.classes.index(name)
            rows |= {row.id: row for row in rows_where(state, "label = ?", label)}
            beyond += take_out_beyond(state, label)
        withhold(state, list(rows.values()))
    return len(rows) + beyond


@dataclass(frozen=True)
class Window:
    """What a stream holds at most: the last so many arrivals, or those of the last seconds."""

    arrivals: int | None = None
    seconds: int | None = None

    @classmethod
    def parse(cls, text: str) -> "Window":
        """Read a number of arrivals, or a span such as 90m, 12h, 7d, 2w.

        >>> Window.parse("7d"), Window.parse("1000")
        (Window(arrivals=None, seconds=604800), Window(arrivals=1000, seconds=None))
        """
        found = re.fullmatch(r"([1-9]\d{0,11})([smhdw]?)", text, re.ASCII)
        if not found:
            raise ScopeError(
                f"a window must be a number of images such as 100000 or a span such as 90m, 12h, "
                f"7d or 2w, got {text!r}"
            )
        number, unit = int(found[1]), found[2]
        return cls(seconds=number * UNITS[unit]) if unit else cls(arrivals=number)


def slide(state: State, window: Window, now: int) -> int:
    """Let go, inside a change, of what the window leaves behind; give how many that are."""
    if window.arrivals is not None:
        gone = rows_where(state, "number <= ?", state.about("number", 0) - window.arrivals)
    else:
        gone = _older(state, max(now, state.about("seen", 0)) - (window.seconds or 0) * NS)
    let_go(state, gone)
    return len(gone)


def _older(state: State, moment: int) -> list[Row]:
    """Give what was seen before a moment: times never decrease along arrivals."""
    still = state.ask("select number from images where seen >= ? order by number limit 1", moment)
    return rows_where(state, "number < ?", still[0][0] if still else state.about("number", 0) + 1)
