"""Sixteen generated images whose scores travel with a kit: they show that a site computes alike.

Integer arithmetic and SHAKE-256 only, so that every machine draws the same pixels. Colours tell
RGB from BGR, fine patterns tell one resize from another, sizes tell crops and resolutions apart.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from scopefl.vision.encoder import Encoder

if TYPE_CHECKING:
    from scopefl.vision.kit import Kit

COUNT = 16
Pixels = NDArray[np.uint8]
_Draw = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]


def _noise(high: int, wide: int, channels: int, seed: str) -> NDArray[np.int64]:
    raw = hashlib.shake_256(seed.encode()).digest(high * wide * channels)
    return np.frombuffer(raw, np.uint8).reshape(high, wide, channels).astype(np.int64)


def _colours(
    where: NDArray[np.bool_], yes: tuple[int, int, int], no: tuple[int, int, int]
) -> NDArray[np.int64]:
    return np.where(where[..., None], np.array(yes), np.array(no))


def _rgb(
    red: NDArray[np.int64], green: NDArray[np.int64], blue: NDArray[np.int64]
) -> NDArray[np.int64]:
    return np.stack(np.broadcast_arrays(red, green, blue), axis=-1)


def _letters(y: NDArray[np.int64], x: NDArray[np.int64]) -> NDArray[np.int64]:
    """Give rows of dark glyph-like blocks on paper."""
    ink = _noise(32, 32, 1, "letters")[..., 0] > 140
    lines = (y // 8 % 8 < 6) & (x // 8 % 6 < 5)
    return _colours(ink[y // 8 % 32, x // 8 % 32] & lines, (24, 20, 30), (238, 232, 215))


_DRAWINGS: tuple[tuple[int, int, _Draw], ...] = (
    (256, 256, lambda _, x: _rgb(x, 0 * x, 255 - x)),
    (240, 320, lambda y, x: _rgb(40 + 0 * x, y, x // 2)),
    (
        300,
        300,
        lambda y, x: _colours((y - 150) ** 2 + (x - 150) ** 2 < 9000, (20, 60, 220), (255, 140, 0)),
    ),
    (
        224,
        336,
        lambda y, x: _colours(
            (abs(y - 112) < 70) & (abs(x - 168) < 70), (220, 16, 16), (250, 250, 250)
        ),
    ),
    (512, 512, lambda y, x: _colours((x + y) % 2 == 0, (255, 255, 255), (0, 0, 0))),
    (400, 400, lambda y, x: _colours((x // 25 + y // 25) % 2 == 0, (0, 90, 0), (255, 230, 90))),
    (480, 640, lambda y, x: _colours((x + 2 * y) // 3 % 3 == 0, (10, 10, 60), (200, 220, 255))),
    (64, 64, lambda *_: _noise(64, 64, 3, "colour")),
    (200, 300, lambda *_: np.repeat(_noise(200, 300, 1, "grey"), 3, axis=2)),
    (480, 480, lambda y, x: np.repeat(((x * x + y * y) // 64 % 256)[..., None], 3, axis=2)),
    (384, 512, _letters),
    (32, 32, lambda y, x: _rgb(255 * (x // 16), 255 * (y // 16), 255 * ((x // 16 + y // 16) % 2))),
    (150, 600, lambda _, x: _rgb(x // 100 % 2 * 255, x // 200 % 2 * 255, x // 400 % 2 * 255)),
    (260, 200, lambda y, x: _rgb(8 + x // 20, 6 + y // 26, 12 + 0 * x)),
    (
        280,
        280,
        lambda y, x: _colours(
            (y - 90) ** 2 + (x - 180) ** 2 < 1600, (120, 255, 255), (246, 240, 244)
        ),
    ),
    (
        350,
        450,
        lambda y, x: (
            _colours((y > x // 2) & (y > 250 - x), (190, 0, 160), (30, 150, 40))
            + _noise(350, 450, 3, "grain") // 8
        ),
    ),
)


def images() -> list[Pixels]:
    """Give the sixteen (H, W, 3) uint8 images, always the same."""
    drawn = []
    for high, wide, draw in _DRAWINGS:
        y, x = np.mgrid[:high, :wide]
        drawn.append(np.clip(draw(y, x), 0, 255).astype(np.uint8))
    return drawn


def embeddings(encoder: Encoder) -> NDArray[np.float32]:
    """Give the (16, D) unit rows that an encoder makes of the canaries."""
    return encoder.embed(np.stack([encoder.prepare(image) for image in images()]))


@dataclass(frozen=True)
class CanaryScores:
    """RS and S_neg of the canaries; canary i is taken as a member of class i mod C. Shape (16,)."""

    rs: NDArray[np.float64]
    s_neg: NDArray[np.float64]

    @classmethod
    def of(cls, rows: NDArray[np.float32], prototypes: NDArray[np.float32]) -> "CanaryScores":
        """Score the canaries' embeddings (16, D) against prototypes (C, D)."""
        cosines = rows.astype(np.float64) @ prototypes.T.astype(np.float64)
        own = np.arange(len(rows)) % len(prototypes)
        rs = cosines[np.arange(len(rows)), own]
        cosines[np.arange(len(rows)), own] = -np.inf
        return cls(rs, cosines.max(axis=1))


@dataclass(frozen=True)
class CanaryCheck:
    """How far this machine's canaries lie from the kit's, the largest difference of each kind."""

    embedding: float
    rs: float
    s_neg: float
    worst: int
    """Number of the canary that differs most."""
    tolerance: float
    """How far a score may lie off; one of an embedding's many numbers may lie ten times as far."""

    @property
    def same_tower(self) -> bool:
        """True when the embeddings agree."""
        return self.embedding <= 10 * self.tolerance

    @property
    def passed(self) -> bool:
        """True when every difference is within the tolerance."""
        return self.same_tower and max(self.rs, self.s_neg) <= self.tolerance

    def __str__(self) -> str:
        figures = (
            f"embedding {self.embedding:.1e}, RS {self.rs:.1e}, S_neg {self.s_neg:.1e} "
            f"(scores may differ by {self.tolerance:.0e})"
        )
        if self.passed:
            return f"pass: {COUNT} canaries agree; largest differences: {figures}"
        cause = (
            "the prototypes or the class order"
            if self.same_tower
            else "the image tower or its preprocessing"
        )
        return f"differs: {cause}; canary {self.worst} is worst; largest differences: {figures}"


def check(kit: "Kit", encoder: Encoder, tolerance: float) -> CanaryCheck:
    """Run the canaries and compare them with what the kit says they must give."""
    rows = embeddings(encoder)
    found = CanaryScores.of(rows, kit.prototypes)
    by_row = np.abs(rows - kit.canary_rows).max(axis=1)
    rs = np.abs(found.rs - kit.canary_scores.rs)
    s_neg = np.abs(found.s_neg - kit.canary_scores.s_neg)
    worst = int(np.maximum.reduce([by_row / 10, rs, s_neg]).argmax())
    return CanaryCheck(float(by_row.max()), float(rs.max()), float(s_neg.max()), worst, tolerance)
