"""From samples to 8-bit RGB: channels, stack, missing numbers, window, transparency, in order."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.data.rules import DecodingRules
from scopefl.data.samples import Samples
from scopefl.data.unreadable import Ambiguous, Unreadable

PERCENTILES = (0.5, 99.5)
"""What auto-percentile makes black and white."""
LEAST_INSIDE = 0.01
"""A window that holds a smaller share of the samples was meant for other files."""
BLOCK = 1 << 22
"""Samples converted at once, so that no float copy of a whole image is ever made."""


@dataclass(frozen=True)
class Decoded:
    """An image as the encoder sees it: (H, W, 3) uint8 RGB, and what was done to get there."""

    pixels: NDArray[np.uint8]
    notes: tuple[str, ...] = ()


def to_picture(samples: Samples, rules: DecodingRules) -> Decoded:
    """Return the samples as 8-bit RGB under the rules."""
    samples, alpha = _split_alpha(samples)
    samples = _project(_choose_channels(samples, rules), rules)
    samples = _fill_missing(samples, rules)
    samples = _apply_window(samples, rules)
    pixels = samples.values[0]
    if samples.inverted:
        pixels = 255 - pixels
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    notes = samples.notes
    if alpha is not None:
        pixels, seen = _composite(pixels, _alpha_bytes(alpha, rules), samples.alpha, rules)
        notes = (*notes, *seen)
    height, width = pixels.shape[:2]
    if max(height, width) > 10 * min(height, width):
        notes = (*notes, f"{width}x{height}: the encoder sees only a part of so long a picture")
    return Decoded(np.ascontiguousarray(pixels), notes)


def _split_alpha(samples: Samples) -> tuple[Samples, NDArray[Any] | None]:
    if samples.alpha == "none":
        return samples, None
    alpha = samples.values[..., -1:]
    return replace(samples, values=samples.values[..., :-1]), alpha


def _choose_channels(samples: Samples, rules: DecodingRules) -> Samples:
    count = samples.values.shape[3]
    if rules.channels is not None:
        chosen = [_channel_number(channel, count, samples.names) for channel in rules.channels]
        return replace(samples, values=samples.values[..., chosen])
    if count == 1 or (count == 3 and samples.colour):
        return samples
    known = f" ({', '.join(samples.names)})" if samples.names else ""
    raise Ambiguous(
        f"{count} channels{known}: add --channels with one number or name (shown grey) or three "
        "(shown as red, green, blue)"
    )


def _channel_number(channel: int | str, count: int, names: tuple[str, ...]) -> int:
    if isinstance(channel, str):
        if channel not in names:
            known = (
                f"its channels are {', '.join(names)}" if names else "its channels have no names"
            )
            raise Unreadable(f"no channel is called {channel!r}: {known} (--channels)")
        return names.index(channel)
    if channel >= count:
        raise Unreadable(f"no channel {channel}: it has {count}, numbered from 0 (--channels)")
    return channel


def _project(samples: Samples, rules: DecodingRules) -> Samples:
    values = samples.values
    if len(values) == 1:
        return samples
    if rules.project is None:
        raise Ambiguous(
            f"a stack of {len(values)} planes: add --project max (or mean, first, or a number)"
        )
    if rules.project == "max":
        plane = values.max(axis=0, keepdims=True)
    elif rules.project == "mean":
        plane = values.mean(axis=0, keepdims=True, dtype=np.float64)
    else:
        number = 0 if rules.project == "first" else rules.project
        if number >= len(values):
            raise Unreadable(
                f"no plane {number}: the stack has {len(values)}, numbered from 0 (--project)"
            )
        plane = values[number : number + 1]
    note = f"{len(values)} planes projected by {rules.project}"
    return replace(samples, values=plane).noting(note)


def _fill_missing(samples: Samples, rules: DecodingRules) -> Samples:
    values = samples.values
    if values.dtype.kind != "f":
        return samples
    finite = np.isfinite(values)
    missing = int(values.size - np.count_nonzero(finite))
    if missing == 0:
        return samples
    if missing > rules.max_nan * values.size or missing == values.size:
        raise Unreadable(
            f"{missing / values.size:.1%} of the samples are NaN or infinite: at most "
            f"{rules.max_nan:.1%} are filled (--max-nan)"
        )
    filled = np.where(finite, values, np.median(values[finite]).astype(values.dtype))
    return replace(samples, values=filled).noting(
        f"{missing} NaN or infinite samples filled with the median"
    )


def _apply_window(samples: Samples, rules: DecodingRules) -> Samples:
    values, window = samples.values, rules.window
    shallow = samples.full_scale is not None and samples.full_scale <= 255
    if window == "auto-percentile":
        low, high = percentile_window(values)
        samples = samples.noting(f"window {low:g} to {high:g} from percentiles")
    elif shallow or (window is None and samples.full_scale is not None):
        low, high = 0.0, float(samples.full_scale or 0)
    elif window is None:
        raise Ambiguous(_window_question(samples))
    else:
        low, high = window
        samples = _check_window_fits(samples, low, high)
    return replace(samples, values=stretch(values, low, high))


def _window_question(samples: Samples) -> str:
    values = samples.values
    kind = "floating-point" if values.dtype.kind == "f" else f"{8 * values.dtype.itemsize}-bit"
    hint = ""
    if samples.tagged_range:
        low, high = samples.tagged_range
        hint = f" (a tag in the file says --window {low:g},{high:g})"
    return (
        f"{kind} samples from {values.min():g} to {values.max():g}: add --window LOW,HIGH or "
        f"bits:N or auto-percentile{hint}"
    )


def _check_window_fits(samples: Samples, low: float, high: float) -> Samples:
    values = samples.values
    outside = values.size - int(np.count_nonzero((values >= low) & (values <= high)))
    if outside > (1 - LEAST_INSIDE) * values.size:
        raise Unreadable(
            f"{outside / values.size:.1%} of the samples (from {values.min():g} to "
            f"{values.max():g}) lie outside the window {low:g} to {high:g} (--window)"
        )
    if outside > LEAST_INSIDE * values.size:
        return samples.noting(f"{outside / values.size:.0%} of the samples lie outside the window")
    return samples


def percentile_window(values: NDArray[Any]) -> tuple[float, float]:
    """Return the two samples at the robust percentiles, or the extremes where those coincide."""
    flat = values.reshape(-1)
    low, high = (float(end) for end in np.percentile(flat, PERCENTILES, method="nearest"))
    if low == high:
        low, high = float(flat.min()), float(flat.max())
    if low == high:
        raise Unreadable(f"blank: every sample is {low:g}, so percentiles give no window")
    return low, high


def stretch(values: NDArray[Any], low: float, high: float) -> NDArray[np.uint8]:
    """Return the values as bytes: low and below 0, high and above 255, evenly between.

    >>> stretch(np.array([0, 1000, 2000, 4095], dtype=np.uint16), 0, 4095).tolist()
    [0, 62, 125, 255]
    """
    if values.dtype == np.uint8 and (low, high) == (0, 255):
        return values
    if values.dtype in (np.uint8, np.uint16):
        every = np.arange(np.iinfo(values.dtype).max + 1, dtype=np.float64)
        shown: NDArray[np.uint8] = _stretch_floats(every, low, high)[values]
        return shown
    flat = values.reshape(-1)
    out = np.empty(flat.shape, dtype=np.uint8)
    for part in _blocks(flat.size):
        out[part] = _stretch_floats(flat[part].astype(np.float64), low, high)
    return out.reshape(values.shape)


def _stretch_floats(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.uint8]:
    share = (np.clip(values, low, high) - low) / (high - low)
    return np.rint(share * 255).astype(np.uint8)


def _blocks(size: int) -> Iterator[slice]:
    for start in range(0, size, BLOCK):
        yield slice(start, start + BLOCK)


def _alpha_bytes(alpha: NDArray[Any], rules: DecodingRules) -> NDArray[np.uint8]:
    plane = _project(Samples(alpha, full_scale=None), rules).values[0]
    whole = np.iinfo(alpha.dtype).max if alpha.dtype.kind in "ui" else 1.0
    return stretch(plane, 0.0, float(whole))


def _composite(
    pixels: NDArray[np.uint8], alpha: NDArray[np.uint8], kind: str, rules: DecodingRules
) -> tuple[NDArray[np.uint8], tuple[str, ...]]:
    share = float(np.count_nonzero(alpha != 255)) / alpha.size
    if share == 0:
        return pixels, ()
    out = np.empty_like(pixels)
    rows = max(1, BLOCK // (3 * pixels.shape[1]))
    for start in range(0, len(pixels), rows):
        part = slice(start, start + rows)
        weight = alpha[part].astype(np.float32) / 255
        shown = pixels[part] * (weight if kind == "straight" else np.float32(1))
        out[part] = np.rint(np.minimum(shown + rules.background * (1 - weight), 255))
    return out, (f"{share:.0%} transparent pixels shown on grey level {rules.background}",)
