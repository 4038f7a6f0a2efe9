"""What is new in an HDF5 file that an instrument appends to, read beside its writer (SWMR)."""

from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from scopefl.data.hdf5 import Hdf5Source
from scopefl.errors import ScopeError
from scopefl.stream.arrivals import Arriving
from scopefl.stream.events import Clock
from scopefl.stream.state import State


class Hdf5Arrivals:
    """The pictures along the first axis of an array, each once it has been there for a while.

    An array may be seen longer before what is in it has reached the disk.
    """

    def __init__(
        self,
        path: Path,
        state: State,
        settle: float,
        clock: Clock,
        array: str | None = None,
        label_array: str | None = None,
    ) -> None:
        self.path, self.state, self.settle, self.clock = path, state, settle, clock
        self.names = {"array": array, "label_array": label_array}
        self.trouble: str | None = None
        self.moving = 0
        self._taken: int | None = None
        self._lengths: deque[tuple[float, int]] = deque([(clock.steady(), 0)])
        self._check_name()

    def still(self, *, all_of_them: bool = False) -> Iterator[Arriving]:
        """Look once, and give the pictures that are new, in their order."""
        try:
            source = Hdf5Source(self.path, growing=True, **self.names)
            taken = self._first(source.array) if self._taken is None else self._taken
            self._check_length(len(source), taken)
        except ScopeError as error:
            self.trouble = str(error)
            return
        self.trouble = None
        until = len(source) if all_of_them else self._settled(len(source))
        for self._taken, item in enumerate(islice(source, taken, until), start=taken + 1):
            yield Arriving(item)
        self.moving = len(source) - max(until, taken)

    def _settled(self, length: int) -> int:
        """Give the length that the array had a while ago."""
        now = self.clock.steady()
        if length != self._lengths[-1][1]:
            self._lengths.append((now, length))
        while len(self._lengths) > 1 and now - self._lengths[1][0] >= self.settle:
            self._lengths.popleft()
        return self._lengths[0][1]

    def _first(self, array: str) -> int:
        """Give the place after the last one that the state knows."""
        name = array.strip("/")
        found = self.state.ask(
            "select max(id) from (select id from images union all select id from passed) "
            "where id > ? and id < ?",
            f"{name}/",
            f"{name}0",
        )
        return 0 if found[0][0] is None else int(found[0][0].rpartition("/")[2]) + 1

    def _check_length(self, length: int, taken: int) -> None:
        if length < taken:
            raise ScopeError(
                f"{self.path} must only grow: {taken} pictures were taken from it, and it holds "
                f"{length}; give a new run its own file and --state"
            )

    def _check_name(self) -> None:
        """Refuse another file: its pictures would have the names of those that were taken."""
        known = self.state.about("file", self.path.name)
        if known != self.path.name:
            raise ScopeError(
                f"{self.state.folder} follows {known}; give {self.path.name} a --state of its own"
            )
        with self.state.change():
            self.state.set_about("file", self.path.name)
