"""The terms on which sites share their profiles: the privacy mode and its public numbers."""

from dataclasses import dataclass
from struct import pack, unpack

from scopefl.core.envelope import Body, varint
from scopefl.errors import RefusedError, ScopeError

MODES = ("open", "min-cell", "secure-sum", "secure-sum+dp", "local-dp")
MASKED = ("secure-sum", "secure-sum+dp")
NOISY = ("secure-sum+dp", "local-dp")
MIN_SITES = 3
MIN_CELL = 5
MAX_CELL = MAX_TILES = MAX_COLLUDERS = 1 << 16


@dataclass(frozen=True)
class Terms:
    """A mode, and in it: the least samples of a class that is shared, or the noise and its ranges.

    `epsilon` and `delta` are spent by one round on one specimen of at most `tiles` images; scores
    are clipped to `low`..`high`; up to `colluders` sites may pool what they know of their noise.
    """

    mode: str = "open"
    min_cell: int = 1
    epsilon: float = 0.0
    delta: float = 0.0
    low: float = 0.0
    high: float = 0.0
    tiles: int = 0
    colluders: int = 0

    @classmethod
    def of(
        cls,
        mode: str,
        *,
        min_cell: int | None = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        low: float = 0.0,
        high: float = 0.5,
        tiles: int = 1,
        colluders: int = 1,
    ) -> "Terms":
        """Give the terms of a mode, the numbers it does not use left out.

        >>> Terms.of("min-cell").min_cell, Terms.of("secure-sum").epsilon
        (5, 0.0)
        """
        if mode in NOISY:
            shared = colluders if mode in MASKED else 0
            terms = cls(mode, 1, epsilon, delta, low, high, tiles, shared)
        else:
            usual = MIN_CELL if mode == "min-cell" else 1
            terms = cls(mode, usual if min_cell is None else min_cell)
        terms.check()
        return terms

    @property
    def masked(self) -> bool:
        """Say whether the coordinator sees sums only."""
        return self.mode in MASKED

    @property
    def noisy(self) -> bool:
        """Say whether noise is added."""
        return self.mode in NOISY

    def check(self) -> None:
        """Refuse numbers that keep no promise."""
        if self.mode not in MODES:
            raise ScopeError(f"the mode must be one of {', '.join(MODES)}, got {self.mode!r}")
        if self.mode == "open" and self.min_cell != 1:
            raise ScopeError("open shares every class; use the mode min-cell to hold small ones")
        if not 1 <= self.min_cell <= MAX_CELL:
            raise ScopeError(f"min_cell must be between 1 and {MAX_CELL}, got {self.min_cell}")
        if self.mode == "min-cell" and self.min_cell < MIN_CELL:
            raise ScopeError(
                f"min-cell holds back classes under {MIN_CELL} samples or more, got "
                f"{self.min_cell}; three numbers give three samples away"
            )
        if self.noisy:
            self._check_noise()

    def _check_noise(self) -> None:
        if not 0 < self.epsilon <= 1000:
            raise ScopeError(f"epsilon must be above 0 and at most 1000, got {self.epsilon}")
        if not 0 < self.delta <= 1e-3:
            raise ScopeError(
                f"delta must be above 0 and at most 0.001, got {self.delta}; it is the chance "
                "that the promise fails"
            )
        if not -1 <= self.low < self.high <= 1:
            raise ScopeError(
                f"the clipping range must lie in -1..1, low below high, got {self.low}..{self.high}"
            )
        if not 1 <= self.tiles <= MAX_TILES:
            raise ScopeError(f"tiles must be between 1 and {MAX_TILES}, got {self.tiles}")
        if not (self.mode == "secure-sum+dp") <= self.colluders <= MAX_COLLUDERS:
            raise ScopeError(
                f"colluders must be at least 1, got {self.colluders}: every site knows its own "
                "share of the noise"
            )

    def to_body(self) -> bytes:
        """Encode as part of a message."""
        body = varint(MODES.index(self.mode))
        if self.noisy:
            numbers = pack("<4d", self.epsilon, self.delta, self.low, self.high)
            return body + numbers + varint(self.tiles) + varint(self.colluders)
        return body if self.mode == "open" else body + varint(self.min_cell)

    @classmethod
    def from_body(cls, fields: Body) -> "Terms":
        """Decode and check `to_body`."""
        mode = MODES[fields.varint(len(MODES) - 1)]
        terms = cls(mode)
        if mode in NOISY:
            epsilon, delta, low, high = unpack("<4d", fields.take(32))
            tiles, colluders = fields.varint(MAX_TILES), fields.varint(MAX_COLLUDERS)
            terms = cls(mode, 1, epsilon, delta, low, high, tiles, colluders)
        elif mode != "open":
            terms = cls(mode, fields.varint(MAX_CELL))
        terms.check()
        return terms

    def __str__(self) -> str:
        """Say the mode and its numbers as people write them."""
        if self.noisy:
            return (
                f"{self.mode} (epsilon {self.epsilon:g}, delta {self.delta:g}, scores clipped to "
                f"{self.low:g}..{self.high:g}, {self.tiles} images a specimen)"
            )
        return self.mode if self.min_cell == 1 else f"{self.mode} (at least {self.min_cell})"


OPEN = Terms()


def check_same_terms(ours: Terms, theirs: Terms, our_name: str, their_name: str) -> None:
    """Refuse to mix terms: the weaker would become everybody's."""
    if ours != theirs:
        raise RefusedError(
            f"all sites must share on the same terms, got {ours} from {our_name} and {theirs} "
            f"from {their_name}; agree on one mode and send again"
        )
