"""What scores images: anything that turns pixels into unit rows."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from scopefl.errors import ScopeError
from scopefl.vision.preprocess import Preprocessing


class Encoder(Protocol):
    """An image tower with the preprocessing that belongs to its weights."""

    @property
    def dim(self) -> int:
        """Length D of an embedding."""
        ...

    @property
    def batch_size(self) -> int:
        """Rows that `embed` likes best at once."""
        ...

    def prepare(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Resize and crop one (H, W, 3) uint8 RGB image to the tower's (S, S, 3) input."""
        ...

    def embed(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Turn stacked prepared images into (n, D) float32 unit rows, the same in any batch."""
        ...


Tower = Callable[[NDArray[np.uint8]], NDArray[np.float32]]
"""(rows, S, S, 3) uint8 to (rows, D) float32, for one fixed number of rows."""


@dataclass(frozen=True)
class TowerEncoder:
    """A tower that is always run at one batch shape, so that no image can change another's row."""

    preprocessing: Preprocessing
    tower: Tower
    dim: int
    rows: int = 1
    """Images a run of the tower takes; the last run is filled up with black ones."""
    batch_size: int = 32

    def prepare(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Resize and crop one (H, W, 3) uint8 RGB image to the tower's (S, S, 3) input."""
        if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8 or not pixels.size:
            raise ScopeError(
                f"an image must be (height, width, 3) uint8, got {pixels.shape} {pixels.dtype}"
            )
        return self.preprocessing.prepare(pixels)

    def embed(self, batch: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Turn stacked prepared images into (n, D) float32 unit rows, the same in any batch."""
        rows = np.empty((len(batch), self.dim), np.float32)
        for start in range(0, len(batch), self.rows):
            part = batch[start : start + self.rows]
            missing = self.rows - len(part)
            whole = np.concatenate([part, np.zeros((missing, *part.shape[1:]), np.uint8)])
            found = self.tower(whole if missing else part)
            if found.shape != (self.rows, self.dim):
                raise ScopeError(
                    f"the image tower must give {self.rows} x {self.dim} numbers, it gave "
                    f"{' x '.join(map(str, found.shape))}; check the kit"
                )
            rows[start : start + len(part)] = found[: len(part)]
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise ScopeError(
                "the image tower gave an embedding that is no direction; check the kit"
            )
        unit: NDArray[np.float32] = rows / lengths
        return unit
