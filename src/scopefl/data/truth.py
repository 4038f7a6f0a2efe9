"""True labels, where somebody has them: to check a filter, never to select."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scopefl.data.batches import Coreset, ScoresTable
from scopefl.data.embeddings import read_labels
from scopefl.data.scores_file import SCORED, ScoresFile
from scopefl.errors import ScopeError

Truth = NDArray[np.integer[Any]]


def read_truth(path: Path, file: ScoresFile | ScoresTable | Coreset) -> Truth:
    """Give the true class number of every row of a scores file, quarantined ones too, (rows,)."""
    truth: NDArray[Any] = read_labels(path, file.classes)
    if truth.shape != (file.rows,):
        raise ScopeError(
            f"{path} must hold one true label a row, {file.rows}, got shape {truth.shape}"
        )
    if truth.dtype.kind not in "iu" or (len(truth) and truth.max() >= len(file.classes)):
        raise ScopeError(f"{path} must hold class numbers below {len(file.classes)} or class names")
    return truth


def of_scored(truth: Truth, file: ScoresFile, start: int = 0) -> NDArray[np.int64]:
    """Keep the true labels of the rows that have scores; `file` begins at row `start` of them."""
    scored = pa.compute.equal(file.table["status"], SCORED).combine_chunks()
    rows: Truth = truth[start : start + file.rows][np.asarray(scored, bool)]
    return rows.astype(np.int64)
