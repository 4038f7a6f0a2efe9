from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scopefl.core.scores import Scores
from scopefl.data.scores_file import ScoresFile
from scopefl.data.truth import of_scored, read_truth
from scopefl.errors import ScopeError


@pytest.fixture
def file() -> ScoresFile:
    half = np.full(3, 0.5, np.float32)
    whole = ScoresFile.of(Scores(half, half, half), np.array([0, 1, 0]), ("a", "b"), b"")
    status = pa.array(["scored", "quarantined", "scored"]).dictionary_encode()
    place = whole.table.column_names.index("status")
    return ScoresFile(whole.table.set_column(place, "status", status), whole.classes, b"")


def test_names_and_numbers_say_the_same(file: ScoresFile, tmp_path: Path):
    (tmp_path / "t.txt").write_text("b\na\na\n")
    np.save(tmp_path / "t.npy", np.array([1, 0, 0]))
    assert read_truth(tmp_path / "t.txt", file).tolist() == [1, 0, 0]
    assert read_truth(tmp_path / "t.npy", file).tolist() == [1, 0, 0]


def test_quarantined_rows_are_left_out(file: ScoresFile):
    assert of_scored(np.array([7, 8, 9]), file).tolist() == [7, 9]


@pytest.mark.parametrize("truth", [[0, 1], [0, 1, 2], [0.0, 1.0, 0.0]])
def test_what_cannot_be_true_is_refused(file: ScoresFile, tmp_path: Path, truth: list[float]):
    np.save(tmp_path / "t.npy", np.array(truth))
    with pytest.raises(ScopeError, match="must hold"):
        read_truth(tmp_path / "t.npy", file)
