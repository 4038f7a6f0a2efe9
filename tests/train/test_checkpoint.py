import json

import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.train.checkpoint import Progress, digest_of, load, save
from scopefl.train.history import Round
from scopefl.train.learner import Examples
from scopefl.train.plan import Plan
from tests.full_disk import full_disk

PLAN = Plan(5, seed=2)
PROGRESS = Progress(
    (Round(1, (0, 2), 30, 0.25), Round(2, (1,), 7, 0.5, (3, 4), None)),
    [np.float32([[1, 2]]), np.float32([3])],
    np.array([0, 1, 1]),
)


def test_progress_comes_back_as_it_was_written(tmp_path):
    path = tmp_path / "deep" / "run.npz"
    save(path, PROGRESS, PLAN, "data")
    back = load(path, PLAN, "data")
    assert back.rounds == PROGRESS.rounds
    np.testing.assert_array_equal(back.weights[0], PROGRESS.weights[0])
    np.testing.assert_array_equal(back.predictions, PROGRESS.predictions)
    assert back.weights[1].dtype == np.float32


def test_progress_before_any_evaluation_comes_back_too(tmp_path):
    save(tmp_path / "run.npz", PROGRESS._replace(predictions=None), PLAN, "data")
    assert load(tmp_path / "run.npz", PLAN, "data").predictions is None


def test_no_file_is_no_progress(tmp_path):
    assert load(tmp_path / "run.npz", PLAN, "data") is None


def test_a_checkpoint_of_other_data_or_another_plan_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    save(path, PROGRESS, PLAN, "data")
    with pytest.raises(ScopeError, match="its data differs"):
        load(path, PLAN, "other data")
    with pytest.raises(ScopeError, match="its plan differs"):
        load(path, Plan(6, seed=2), "data")


@pytest.mark.parametrize("content", [b"", b"not a file of ours", b"PK\x03\x04 cut off"])
def test_a_damaged_checkpoint_is_refused_in_a_sentence(tmp_path, content):
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(ScopeError, match="must be a checkpoint that scope wrote"):
        load(path, PLAN, "data")


def test_a_checkpoint_of_a_later_version_or_with_missing_parts_is_refused(tmp_path):
    path = tmp_path / "run.npz"
    np.savez(path, about=np.array(json.dumps({"version": 99})))
    with pytest.raises(ScopeError, match="its version differs"):
        load(path, PLAN, "data")
    np.savez(path, other=np.zeros(1))
    with pytest.raises(ScopeError, match="must be a checkpoint"):
        load(path, PLAN, "data")


def test_the_digest_sees_every_value():
    x, y = np.arange(6.0).reshape(3, 2), np.array([0, 1, 0])
    base = digest_of([Examples(x, y)])
    assert base == digest_of([Examples(x.copy(), y.copy())])
    others = [
        Examples(x + 1, y),
        Examples(x, 1 - y),
        Examples(x, y, np.ones(3)),
        Examples(x[:2], y[:2]),
    ]
    assert len({base, *(digest_of([other]) for other in others)}) == 5


def test_a_full_disk_is_told_and_the_checkpoint_before_stays(tmp_path):
    path = tmp_path / "run.npz"
    save(path, PROGRESS, PLAN, "data")
    large = PROGRESS._replace(weights=[np.zeros(10_000, np.float32)])
    with full_disk(1024), pytest.raises(ScopeError, match=r"could not be written .* is intact"):
        save(path, large, PLAN, "data")
    assert load(path, PLAN, "data").rounds == PROGRESS.rounds
    assert [each.name for each in tmp_path.iterdir()] == ["run.npz"]
