"""What a file holds before the rules are applied: numbers in a fixed order of axes."""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from scopefl.data.rules import DecodingRules
from scopefl.data.unreadable import Ambiguous, Unreadable

Alpha = Literal["none", "straight", "premultiplied"]


@dataclass(frozen=True)
class Samples:
    """The numbers of one input, (planes, height, width, channels)."""

    values: NDArray[Any]
    full_scale: int | None
    """The number that means white, where the format itself says so (255 for bytes)."""
    colour: bool = False
    """The container says that the channels are grey, or red, green, blue."""
    alpha: Alpha = "none"
    """Whether the last channel is transparency."""
    inverted: bool = False
    """Zero means white."""
    names: tuple[str, ...] = ()
    """Names of the channels, where the container has them."""
    tagged_range: tuple[float, float] | None = None
    """The range a tag mentions; offered in the refusal, never used silently."""
    notes: tuple[str, ...] = ()

    def noting(self, note: str) -> "Samples":
        """Return the same samples with one more remark for the record."""
        return replace(self, notes=(*self.notes, note))


def check_size(width: int, height: int, planes: int, channels: int, rules: DecodingRules) -> None:
    """Refuse what is too large or too small, before anything is decoded."""
    if min(width, height) < rules.min_side:
        raise Unreadable(
            f"{width}x{height} pixels: both sides must be at least {rules.min_side} (--min-side)"
        )
    if width * height * planes > rules.max_pixels:
        raise Unreadable(
            f"{width * height * planes} pixels: more than the cap of {rules.max_pixels} "
            "(--max-pixels)"
        )
    if width * height * planes * channels > 4 * rules.max_pixels:
        raise Unreadable(
            f"{width * height * planes} pixels of {channels} channels: more samples than four "
            f"times the cap of {rules.max_pixels} (--max-pixels)"
        )


def canonical_axes(axes: str, rules: DecodingRules) -> str:
    """Name each axis P (planes), C (channels), Y or X; axes nobody named need a declaration."""
    if rules.axes is not None and len(rules.axes) == len(axes):
        axes = rules.axes
    unnamed = [axis for axis in axes if axis not in "TZCSYX"]
    if unnamed and rules.project is None and rules.channels is None:
        raise Ambiguous(
            "several planes that the file does not name: add --project max (or mean, first, a "
            "number) if they are a stack, --channels 0,1,2 if they are channels"
        )
    if unnamed and rules.project is None and not set("CS") & set(axes):
        axes = axes.replace(unnamed[-1], "C")
    return "".join({"S": "C"}.get(axis, axis if axis in "CYX" else "P") for axis in axes)


def arrange(values: NDArray[Any], axes: str) -> NDArray[Any]:
    """Return the values as (planes, height, width, channels), given P, C, Y and X axes."""
    if axes.count("C") > 1 or axes.count("Y") != 1 or axes.count("X") != 1:
        raise Unreadable(f"axes {axes} hold channels twice, or no picture")
    order = [i for kind in "PYXC" for i, axis in enumerate(axes) if axis == kind]
    shape = dict.fromkeys("PYXC", 1)
    for length, axis in zip(values.shape, axes, strict=True):
        shape[axis] *= length
    return values.transpose(order).reshape([shape[kind] for kind in "PYXC"])


def array_samples(values: NDArray[Any], rules: DecodingRules) -> Samples:
    """Return a bare array as samples: (H, W), (H, W, 1), (H, W, 3), or with declared axes."""
    if values.dtype == bool:
        values = values.astype(np.uint8) * np.uint8(255)
    if values.dtype.kind not in "uif" or values.dtype.itemsize > 8:
        raise Unreadable(f"samples of type {values.dtype} are not grey levels")
    axes = _array_axes(values, rules)
    length = dict(zip(axes, values.shape, strict=True))
    planes = int(np.prod([n for n, axis in zip(values.shape, axes, strict=True) if axis == "P"]))
    check_size(length["X"], length["Y"], planes, length.get("C", 1), rules)
    return Samples(
        values=arrange(values, axes),
        full_scale=255 if values.dtype == np.uint8 else None,
        colour=length.get("C", 1) in (1, 3),
    )


def _array_axes(values: NDArray[Any], rules: DecodingRules) -> str:
    if rules.axes is not None and len(rules.axes) == values.ndim:
        return canonical_axes(rules.axes, rules)
    if values.ndim == 2:
        return "YX"
    if values.ndim == 3 and values.shape[2] in (1, 3):
        return "YXC"
    if values.ndim not in (3, 4):
        raise Unreadable(f"an array of shape {values.shape} is not a picture")
    letters = {3: "CYX or ZYX or YXC", 4: "ZCYX or ZYXC"}[values.ndim]
    raise Ambiguous(
        f"an array of shape {values.shape} can be read in several ways: add --axes {letters}"
    )
