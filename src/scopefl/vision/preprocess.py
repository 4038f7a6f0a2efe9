"""One uint8 RGB image to the tower's input, by the rule that belongs to its weights."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image

_FILTERS = {
    "bicubic": Image.Resampling.BICUBIC,
    "bilinear": Image.Resampling.BILINEAR,
}


@dataclass(frozen=True)
class Preprocessing:
    """Resize, crop, and the normalisation that the tower itself applies.

    `shortest` scales the short side to `size` and crops the centre; `squash` scales both sides.
    `mean` and `std` are in units of the pixels divided by 255 and are part of the tower: it takes
    uint8, so that no caller can forget or repeat them.
    """

    size: int
    resize: Literal["shortest", "squash"]
    interpolation: Literal["bicubic", "bilinear"]
    mean: tuple[float, float, float]
    std: tuple[float, float, float]

    def prepare(self, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
        """Give the (size, size, 3) uint8 input for one (H, W, 3) uint8 RGB image."""
        image = Image.fromarray(pixels)
        wide, high = self._scaled(*image.size)
        if image.size != (wide, high):
            image = image.resize((wide, high), _FILTERS[self.interpolation])
        left, top = round((wide - self.size) / 2), round((high - self.size) / 2)
        return np.asarray(image.crop((left, top, left + self.size, top + self.size)))

    def _scaled(self, wide: int, high: int) -> tuple[int, int]:
        if self.resize == "squash":
            return self.size, self.size
        short, long = min(wide, high), max(wide, high)
        scaled = int(self.size * long / short)
        return (self.size, scaled) if wide <= high else (scaled, self.size)
