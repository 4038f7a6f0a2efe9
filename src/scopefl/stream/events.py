"""What a stream tells while it runs: an arrival, a checkpoint, or what is in the way."""

from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic, time_ns
from typing import Any

NS = 1_000_000_000
APART = "revisions"
"""What is told in lines of its own."""


@dataclass(frozen=True)
class Clock:
    """Time as an argument: the wall's, which may jump, and seconds that only ever grow."""

    wall: Callable[[], int] = time_ns
    steady: Callable[[], float] = monotonic


@dataclass(frozen=True)
class Told:
    """Anything a stream tells."""

    @property
    def line(self) -> dict[str, Any]:
        """Give it for programs: its kind, and what is not empty."""
        told = {k: v for k, v in vars(self).items() if k != APART and v not in (None, {}, ())}
        return {"event": type(self).__name__.lower(), **told}


@dataclass(frozen=True)
class Arrival(Told):
    """One image that came: its fate by the current policy, and the reason where it has no scores.

    >>> Arrival("cat/1.png", "cat", "kept").sentence
    'cat/1.png: kept'
    """

    id: str
    label: str | None
    fate: str
    reason: str | None = None

    @property
    def sentence(self) -> str:
        """Give it for people."""
        return f"{self.id}: {self.fate}" + (f", {self.reason}" if self.reason else "")


@dataclass(frozen=True)
class Revision(Told):
    """One image whose fate is another than was told.

    >>> Revision("cat/1.png", "redundant", "kept").sentence
    'cat/1.png: redundant, was kept'
    """

    id: str
    fate: str
    before: str

    @property
    def sentence(self) -> str:
        """Give it for people."""
        return f"{self.id}: {self.fate}, was {self.before}"


@dataclass(frozen=True)
class Checkpoint(Told):
    """An exact selection over all that is stored: how many of each fate, how many were revised.

    `counted` images are in the sums, `policy` is the version that decided, `published` are the
    classes that were told anew, `drift` says what is an alarm now. `refused` is why there is no
    selection, where a guard said no. `revisions` tells each decision that was revised.
    """

    images: int
    counted: int
    policy: int
    fates: dict[str, int] = field(default_factory=dict)
    revised: int = 0
    refused: str | None = None
    published: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    revisions: tuple[Revision, ...] = field(default=(), repr=False)

    @property
    def sentence(self) -> str:
        """Give it for people."""
        told = f"; published anew: {', '.join(self.published)}" if self.published else ""
        return "".join([self._selected, told, *(f"\n  drift: {one}" for one in self.drift)])

    @property
    def _selected(self) -> str:
        if self.refused is not None:
            return f"{self.images} images, no selection: {self.refused}"
        fates = ", ".join(f"{count} {fate}" for fate, count in self.fates.items())
        return f"{self.images} images: {fates}; {self.revised} decisions revised"


@dataclass(frozen=True)
class Trouble(Told):
    """What is in the way; watching goes on."""

    sentence: str


Event = Arrival | Revision | Checkpoint | Trouble
