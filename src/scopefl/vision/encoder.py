"""What scores images: anything that turns pixels into unit rows."""

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Encoder(Protocol):
    """An image tower with the preprocessing that belongs to its weights."""

    dim: int
    """Length D of an embedding."""
    batch_size: int
    """Rows that `embed` likes best at once."""

    def prepare(self, pixels: NDArray[np.uint8]) -> NDArray[np.generic]:
        """Resize and crop one (H, W, 3) uint8 RGB image to the tower's input."""
        ...

    def embed(self, batch: NDArray[np.generic]) -> NDArray[np.float32]:
        """Turn stacked prepared images into (n, D) float32 unit rows, the same in any batch."""
        ...
