import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl.errors import ScopeError
from scopefl.vision import canaries, runtimes
from scopefl.vision.encoder import TowerEncoder
from tests.vision import small

ENCODER = TowerEncoder(small.RULE, runtimes.onnxruntime_tower(small.tower(), 1), small.DIM, rows=3)
BATCH = np.stack([ENCODER.prepare(image) for image in canaries.images()])
WHOLE = ENCODER.embed(BATCH)


def test_rows_have_length_one():
    np.testing.assert_allclose(np.linalg.norm(WHOLE, axis=1), 1, atol=1e-6)
    assert WHOLE.dtype == np.float32


@settings(max_examples=20, deadline=None)
@given(st.sets(st.integers(1, 15)))
def test_a_row_is_the_same_bits_however_the_batch_is_cut(cuts):
    parts = [ENCODER.embed(part) for part in np.split(BATCH, sorted(cuts))]
    np.testing.assert_array_equal(np.concatenate(parts), WHOLE)


@settings(max_examples=10, deadline=None)
@given(st.permutations(range(16)))
def test_a_row_is_the_same_bits_wherever_it_stands(order):
    np.testing.assert_array_equal(ENCODER.embed(BATCH[order]), WHOLE[order])


def test_an_empty_batch_gives_no_rows():
    assert ENCODER.embed(BATCH[:0]).shape == (0, small.DIM)


@pytest.mark.parametrize(
    "pixels",
    [
        np.zeros((5, 5), np.uint8),
        np.zeros((5, 5, 4), np.uint8),
        np.zeros((5, 5, 3), np.float32),
        np.zeros((0, 5, 3), np.uint8),
    ],
)
def test_only_uint8_rgb_is_taken(pixels):
    with pytest.raises(ScopeError, match="height, width, 3"):
        ENCODER.prepare(pixels)


def test_a_tower_of_another_dimension_is_an_error():
    other = TowerEncoder(small.RULE, runtimes.onnxruntime_tower(small.tower(), 1), 8)
    with pytest.raises(ScopeError, match="must give 1 x 8 numbers, it gave 1 x 24"):
        other.embed(BATCH[:1])


@pytest.mark.parametrize("value", [np.nan, np.inf, 0])
def test_an_embedding_without_direction_is_an_error(value):
    broken = TowerEncoder(small.RULE, lambda rows: np.full((len(rows), 4), value, np.float32), 4)
    with pytest.raises(ScopeError, match="no direction"):
        broken.embed(BATCH[:1])
