"""The declared answers to every question a file leaves open; part of the fingerprint."""

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from scopefl.errors import ScopeError

Window = tuple[float, float] | Literal["auto-percentile"]
Projection = Literal["max", "mean", "first"] | int

PILLOW_CAP = 178_000_000
"""Above this Pillow refuses on its own, so a larger cap could not be kept for every format."""


@dataclass(frozen=True)
class DecodingRules:
    """How raw input becomes 8-bit RGB. An undeclared choice (None) is never guessed.

    window      samples deeper than 8 bits: LOW becomes black, HIGH white; "auto-percentile"
                takes both from each image, whatever its depth
    channels    one channel shown grey, or three shown as red, green, blue; by number or name
    project     how the planes of a stack become one: max, mean, first, or the number of a plane
    axes        what the axes of a bare array or an unlabelled TIFF are, such as CYX or ZYX
    background  the grey level (0 to 255) that shows through transparent pixels
    max_nan     the largest share of NaN or infinite samples that is filled (with the median)
    max_pixels  the largest width x height x planes, checked before decoding
    min_side    the smallest width and height
    """

    window: Window | None = None
    channels: tuple[int | str, ...] | None = None
    project: Projection | None = None
    axes: str | None = None
    background: int = 255
    max_nan: float = 0.05
    max_pixels: int = 64_000_000
    min_side: int = 8

    def __post_init__(self) -> None:
        _check_window(self.window)
        _check_channels(self.channels)
        _check_projection(self.project)
        _check_axes(self.axes)
        _check_range("background", self.background, 0, 255)
        _check_range("max_nan", self.max_nan, 0, 1)
        _check_range("max_pixels", self.max_pixels, 1, PILLOW_CAP)
        _check_range("min_side", self.min_side, 1, 10_000)

    def canonical(self) -> dict[str, Any]:
        """Return the rules as plain JSON values, equal exactly when they decode alike."""
        found = asdict(self)
        if isinstance(self.window, tuple):
            found["window"] = [float(end) for end in self.window]
        if self.channels is not None:
            found["channels"] = list(self.channels)
        found["max_nan"] = float(self.max_nan)
        return {"version": 1, **found}

    @classmethod
    def parse(
        cls,
        *,
        window: str | None = None,
        channels: str | None = None,
        project: str | None = None,
        axes: str | None = None,
        background: str = "white",
        **limits: Any,
    ) -> "DecodingRules":
        """Read the rules from the texts of command-line flags.

        >>> DecodingRules.parse(window="bits:12").window
        (0.0, 4095.0)
        >>> DecodingRules.parse(channels="2,DAPI,0", project="max").channels
        (2, 'DAPI', 0)
        """
        return cls(
            window=None if window is None else parse_window(window),
            channels=None if channels is None else parse_channels(channels),
            project=None if project is None else _parse_projection(project),
            axes=None if axes is None else axes.strip().upper(),
            background=_parse_background(background),
            **limits,
        )


def parse_window(text: str) -> Window:
    """Read `LOW,HIGH`, `bits:N` or `auto-percentile`."""
    text = text.strip()
    if text == "auto-percentile":
        return "auto-percentile"
    bits = re.fullmatch(r"bits:(\d{1,2})", text)
    if bits and 1 <= int(bits[1]) <= 32:
        return 0.0, float(2 ** int(bits[1]) - 1)
    try:
        low, high = (float(end) for end in text.split(","))
    except ValueError:
        raise ScopeError(
            f"window must be LOW,HIGH or bits:N or auto-percentile, got {text!r}"
        ) from None
    return low, high


def parse_channels(text: str) -> tuple[int | str, ...]:
    """Read channel numbers and names separated by commas."""
    words = [word.strip() for word in text.split(",")]
    return tuple(int(word) if word.isascii() and word.isdigit() else word for word in words)


def _parse_projection(text: str) -> Projection:
    text = text.strip()
    if text.isascii() and text.isdigit():
        return int(text)
    named: dict[str, Projection] = {"max": "max", "mean": "mean", "first": "first"}
    if text in named:
        return named[text]
    raise ScopeError(f"project must be max, mean, first or the number of a plane, got {text!r}")


def _parse_background(text: str) -> int:
    named = {"white": 255, "black": 0}
    if text in named:
        return named[text]
    if text.isascii() and text.isdigit():
        return int(text)
    raise ScopeError(f"background must be white, black or a grey level 0 to 255, got {text!r}")


def _check_window(window: Window | None) -> None:
    if window is None or window == "auto-percentile":
        return
    low, high = window
    if not (isinstance(low, int | float) and isinstance(high, int | float)) or not (
        float("-inf") < low < high < float("inf")
    ):
        raise ScopeError(f"window must be two finite numbers LOW,HIGH with LOW < HIGH: {window!r}")


def _check_channels(channels: tuple[int | str, ...] | None) -> None:
    if channels is None:
        return
    if len(channels) not in (1, 3) or not all(
        channel != "" and (isinstance(channel, str) or channel >= 0) for channel in channels
    ):
        raise ScopeError(f"channels must be one or three numbers (from 0) or names: {channels!r}")


def _check_projection(project: Projection | None) -> None:
    if isinstance(project, int) and project < 0:
        raise ScopeError(f"project must be max, mean, first or a plane from 0, got {project}")


def _check_axes(axes: str | None) -> None:
    if axes is None:
        return
    if set(axes) - set("TZCYX") or len(set(axes)) != len(axes) or not {"Y", "X"} <= set(axes):
        raise ScopeError(
            f"axes must name Y and X and at most T, Z and C, each once, such as CYX: {axes!r}"
        )


def _check_range(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise ScopeError(f"{name} must be {low} to {high}, got {value}")
