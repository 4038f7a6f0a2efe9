from pathlib import Path

import numpy as np
import pytest

from scopefl.vision.map import layout, principal


def blobs() -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.float32(np.repeat(np.eye(3, 8), 20, axis=0) + 0.05 * rng.standard_normal((60, 8)))


@pytest.mark.slow
def test_near_rows_are_near_on_the_map(tmp_path: Path):
    placed = layout(blobs(), tmp_path)
    apart = np.linalg.norm(placed[:, None] - placed[None], axis=2)
    np.fill_diagonal(apart, np.inf)
    assert np.mean(apart.argmin(axis=1) // 20 == np.arange(60) // 20) > 0.95


@pytest.mark.slow
def test_the_second_time_the_map_is_read_and_not_computed(tmp_path: Path):
    first = layout(blobs(), tmp_path)
    (kept,) = (tmp_path / "maps").iterdir()
    np.save(kept, first + 1)
    assert np.array_equal(layout(blobs(), tmp_path), first + 1)


def test_a_few_rows_are_laid_in_a_line():
    assert layout(np.ones((2, 5), np.float32), None).tolist() == [[0, 0], [1, 0]]


def test_principal_components_keep_the_distances():
    rows = blobs()
    kept = principal(rows)
    assert np.allclose(
        np.linalg.norm(kept[3] - kept[30]), np.linalg.norm(rows[3] - rows[30]), atol=1e-5
    )
