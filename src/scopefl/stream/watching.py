"""Watching: look for arrivals, take them, and select exactly from time to time, until stopped."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event as Flag

from scopefl.data.hdf5 import SUFFIXES
from scopefl.errors import ScopeError
from scopefl.stream.arrays import Hdf5Arrivals
from scopefl.stream.arrivals import Arrivals, Arriving, FolderArrivals
from scopefl.stream.events import Event, Trouble
from scopefl.stream.stream import Stream

SHARE = 20
"""What looking and selecting cost is at most one part in this many of the time."""


@dataclass(frozen=True)
class Pace:
    """Seconds: between looks, that a file must be still, between exact selections; all at least."""

    poll: float = 2.0
    settle: float = 2.0
    every: float = 60.0
    once: bool = False
    stop: Flag = field(default_factory=Flag)


def open_arrivals(
    images: Path,
    stream: Stream,
    settle: float = 2.0,
    array: str | None = None,
    label_array: str | None = None,
) -> Arrivals:
    """Look into a folder of class folders, or into an HDF5 file that grows."""
    if images.is_dir():
        return FolderArrivals(images, stream.state, settle, stream.clock)
    if images.suffix.lower() in SUFFIXES:
        return Hdf5Arrivals(images, stream.state, settle, stream.clock, array, label_array)
    raise ScopeError(
        f"what is watched must be a folder of class folders or an HDF5 file ({', '.join(SUFFIXES)})"
        f", got {images}; scope score reads other collections"
    )


def watch(arrivals: Arrivals, stream: Stream, pace: Pace) -> Iterator[Event]:
    """Take what is there and what comes, until stopped, or once until all of it is still.

    The last checkpoint is over all that came.
    """
    with stream.state.watched():
        yield from _Watch(arrivals, stream, pace).events()


class _Watch:
    def __init__(self, arrivals: Arrivals, stream: Stream, pace: Pace) -> None:
        self.stream, self.pace, self.steady = stream, pace, stream.clock.steady
        self.arrivals = arrivals
        self.began = self.steady()
        self.selecting = _Turn(pace.every, self.began - pace.every)
        self.looking = _Turn(pace.poll, self.began - pace.poll)
        self.selected: object = None
        self.looked = 0.0

    def events(self) -> Iterator[Event]:
        if self.stream.changes:
            # What was cut before is what decides on the first that come now.
            yield self._checkpoint()
        while not self.pace.stop.is_set():
            yield from self._look()
            if self.pace.once and not self.arrivals.moving:
                break
            self.pace.stop.wait(self.looking.left(self.steady()))
        if self.stream.changes != self.selected:
            yield self._checkpoint()

    def _look(self) -> Iterator[Event]:
        before, self.looked = self.arrivals.trouble, 0.0
        self.stream.let_go()
        for group in self.stream.groups(self._arriving()):
            yield from group
            yield from self._checkpoint_if_due()
            if self.pace.stop.is_set():
                return
        if self.arrivals.trouble not in (None, before):
            yield Trouble(str(self.arrivals.trouble))
        self.looking.took(self.looked, self.steady())
        yield from self._checkpoint_if_due()

    def _arriving(self) -> Iterator[Arriving]:
        """Give what a look finds, and count the time that finding it takes, not that of scoring."""
        late = self.pace.once and self.steady() - self.began > 10 * self.pace.settle
        found = self.arrivals.still(all_of_them=late)
        while True:
            began = self.steady()
            one = next(found, None)
            self.looked += self.steady() - began
            if one is None:
                return
            yield one

    def _checkpoint_if_due(self) -> Iterator[Event]:
        try:
            if self.stream.follow_policy():
                yield self._checkpoint()
        except ScopeError as error:
            yield Trouble(f"{error}; the policy that was read before still decides")
        if not self.selecting.left(self.steady()) and self.stream.changes != self.selected:
            yield self._checkpoint()

    def _checkpoint(self) -> Event:
        began, self.selected = self.steady(), self.stream.changes
        result = self.stream.checkpoint()
        self.selecting.took(self.steady() - began, self.steady())
        return result


class _Turn:
    """When something is due again: after `every` seconds, or longer where it takes long itself."""

    def __init__(self, every: float, last: float) -> None:
        self.every, self.last, self.cost = every, last, 0.0

    def left(self, now: float) -> float:
        return max(0.0, self.last + max(self.every, SHARE * self.cost) - now)

    def took(self, cost: float, now: float) -> None:
        self.last, self.cost = now, cost
