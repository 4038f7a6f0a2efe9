"""Laws of decoding: windows are monotone, depth does not matter, nothing is guessed."""

import importlib.util
import io
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tifffile
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from PIL import Image, ImageFile

from scopefl.data.decoding import Ambiguous, DecodingRules, Unreadable, decode
from scopefl.data.picture import percentile_window, stretch
from scopefl.data.raster import sample_depth
from scopefl.errors import ScopeError
from scopefl.testing.deep import deep_exhibits
from scopefl.testing.exhibit import Exhibit, encoded, grey, png, tiff

UNIT = DecodingRules(window=(0.0, 1.0))
FULL = DecodingRules(window=(0.0, 65535.0))
AUTO = DecodingRules(window="auto-percentile")
sizes = hnp.array_shapes(min_dims=2, max_dims=2, min_side=8, max_side=16)
bytes_images = hnp.arrays(np.uint8, sizes)


def outcome(raw: Any, rules: DecodingRules) -> str:
    """Return the kind of the pixels or the reason; anything else is an error."""
    try:
        pixels = decode(raw, rules).pixels
    except Unreadable as unreadable:
        return unreadable.reason
    return f"{pixels.dtype} {pixels.shape[2]}"


@given(
    values=hnp.arrays(np.uint16, 64),
    low=st.floats(-1e5, 1e5),
    width=st.floats(1e-3, 1e6),
)
def test_a_window_is_monotone_and_the_same_for_integers_and_floats(
    values: Any, low: float, width: float
) -> None:
    shown = stretch(values, low, low + width)
    assert (np.diff(shown[np.argsort(values)].astype(int)) >= 0).all()
    assert (shown[values <= low] == 0).all()
    assert (shown[values >= low + width] == 255).all()
    assert np.array_equal(shown, stretch(values.astype(np.float64), low, low + width))
    assert np.array_equal(shown, stretch(values.astype(np.int32), low, low + width))


@given(bytes_images)
def test_the_8_bit_16_bit_and_float_versions_give_the_same_pixels(levels: Any) -> None:
    pixels = decode(levels, DecodingRules()).pixels
    assert np.array_equal(pixels[..., 0], levels)
    assert np.array_equal(pixels, decode(levels.astype(np.uint16) * 257, FULL).pixels)
    assert np.array_equal(pixels, decode(levels / np.float32(255), UNIT).pixels)
    assert np.array_equal(pixels, decode(tiff(levels / 255), UNIT).pixels)


@given(bytes_images.filter(lambda levels: levels.min() < levels.max()))
def test_percentiles_stretch_every_depth_alike(levels: Any) -> None:
    pixels = decode(levels, AUTO).pixels.astype(int)
    deep = decode(levels.astype(np.uint16) * 257, AUTO).pixels.astype(int)
    real = decode(levels.astype(np.float64) * 3 - 7, AUTO).pixels.astype(int)
    assert np.abs(pixels - deep).max() <= 1
    assert np.abs(pixels - real).max() <= 1


def test_percentiles_fall_back_on_the_extremes_of_sparse_pictures() -> None:
    sparse = np.zeros(10_000)
    sparse[7] = 3.0
    assert percentile_window(sparse) == (0.0, 3.0)


def test_percentiles_leave_a_hot_pixel_outside() -> None:
    values = np.arange(10_000.0)
    values[0] = 1e9
    low, high = percentile_window(values)
    assert (low, high) == (51.0, 9950.0)


@settings(max_examples=60)
@given(
    values=hnp.arrays(
        st.sampled_from([np.uint8, np.uint16, np.int16, np.float32, np.bool_, np.complex64]),
        hnp.array_shapes(min_dims=0, max_dims=5, max_side=10),
    ),
    window=st.sampled_from([None, (0.0, 1.0), "auto-percentile"]),
    project=st.sampled_from([None, "max", "mean", "first", 2]),
    channels=st.sampled_from([None, (0,), (2, 1, 0)]),
    axes=st.sampled_from([None, "CYX", "ZYX", "ZCYX", "YXC"]),
)
def test_any_array_under_any_rules_gives_a_picture_or_a_reason(
    values: Any, window: Any, project: Any, channels: Any, axes: Any
) -> None:
    rules = DecodingRules(window=window, project=project, channels=channels, axes=axes, min_side=1)
    found = outcome(values, rules)
    assert found == "uint8 3" or len(found) > 10


@settings(max_examples=150, deadline=None)
@given(
    kind=st.sampled_from(["png", "jpeg", "tiff16", "gif", "webp"]),
    flips=st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 255)), min_size=1, max_size=6),
)
def test_damaged_bytes_give_a_picture_or_a_reason(kind: str, flips: list[tuple[int, int]]) -> None:
    data = bytearray(DAMAGED[kind])
    for place, change in flips:
        data[place % len(data)] ^= change
    found = outcome(bytes(data), DecodingRules(window=(0.0, 65535.0), max_pixels=1_000_000))
    assert found == "uint8 3" or len(found) > 10


DAMAGED = {
    "png": encoded(grey()),
    "jpeg": encoded(grey(), "JPEG"),
    "tiff16": tiff(grey().astype(np.uint16), compression="zlib"),
    "gif": encoded(grey(), "GIF"),
    "webp": encoded(grey(), "WEBP"),
}


def test_a_declared_order_of_axes_settles_bare_arrays() -> None:
    stack = np.random.default_rng(0).integers(0, 256, (3, 20, 30)).astype(np.uint8)
    with pytest.raises(Ambiguous, match="--axes"):
        decode(stack, DecodingRules())
    first = decode(stack, DecodingRules(axes="CYX")).pixels
    assert np.array_equal(first, stack.transpose(1, 2, 0))
    planes = decode(stack, DecodingRules(axes="ZYX", project="max")).pixels
    assert np.array_equal(planes[..., 1], stack.max(axis=0))


def test_notes_say_what_was_done() -> None:
    long = decode(np.zeros((10, 200), np.uint8), DecodingRules())
    assert "200x10" in long.notes[0]
    holes = np.zeros((20, 20), np.float32)
    holes[0, 0] = np.nan
    assert "1 NaN" in decode(holes, UNIT).notes[0]
    clipped = np.full((20, 20), 2.0)
    clipped[:10] = 0.5
    assert decode(clipped, UNIT).notes == ("50% of the samples lie outside the window",)


@pytest.mark.parametrize("raw", [None, "a path", [[1]], object()])
def test_what_is_no_image_at_all_is_named(raw: object) -> None:
    with pytest.raises(Unreadable, match=type(raw).__name__):
        decode(raw, DecodingRules())


def test_pictures_filled_up_by_pillow_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    with pytest.raises(ScopeError, match="LOAD_TRUNCATED_IMAGES"):
        decode(encoded(grey()), DecodingRules())


def test_a_pillow_image_is_decoded_like_its_file() -> None:
    data = encoded(grey())
    image = Image.open(io.BytesIO(data))
    assert np.array_equal(
        decode(image, DecodingRules()).pixels, decode(data, DecodingRules()).pixels
    )


def test_a_pillow_image_that_would_lose_half_its_depth_is_refused() -> None:
    deep = png(np.dstack([grey().astype(np.uint16) * 257] * 3), 16, 2)
    with pytest.raises(Unreadable, match="16-bit colour"):
        decode(Image.open(io.BytesIO(deep)), FULL)


@pytest.mark.parametrize("kind", sorted(DAMAGED))
def test_a_file_cut_anywhere_is_whole_or_quarantined(kind: str) -> None:
    data = DAMAGED[kind]
    whole = decode(data, FULL).pixels
    for percent in range(100):
        cut = data[: len(data) * percent // 100]
        try:
            pixels = decode(cut, FULL).pixels
        except Unreadable:
            continue
        assert np.array_equal(pixels, whole), percent


def test_a_compression_that_needs_more_codecs_names_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    data = next(one for one in deep_exhibits() if one.name == b"16-colour-lzw.tif")
    with pytest.raises(Unreadable, match=r'LZW .* pip install "scopefl\[tiff\]"'):
        decode(data_of(data), FULL)


def test_the_depth_of_an_avif_is_read_from_its_header() -> None:
    data = bytearray(encoded(np.dstack([grey()] * 3), "AVIF"))
    assert sample_depth(bytes(data), "AVIF") == 8
    data[data.index(b"pixi") + 9] = 10
    assert sample_depth(bytes(data), "AVIF") == 10
    assert sample_depth(b"", "AVIF") == 0
    assert sample_depth(b"", "JPEG2000") == 0


def data_of(exhibit: Exhibit) -> bytes:
    """Return the bytes of an exhibit without a folder of its own."""
    with tempfile.TemporaryDirectory() as folder:
        exhibit.place(Path(folder) / "file")
        return (Path(folder) / "file").read_bytes()


def test_lzw_colour_of_16_bits_is_read_with_the_optional_codecs(tmp_path: Path) -> None:
    codecs = pytest.importorskip("imagecodecs", reason="an optional decoder")
    assert codecs
    deep = np.dstack([grey().astype(np.uint16) * 257] * 3)
    tifffile.imwrite(tmp_path / "deep.tif", deep, compression="lzw")
    pixels = decode((tmp_path / "deep.tif").read_bytes(), FULL).pixels
    assert np.array_equal(pixels[..., 0], grey())
