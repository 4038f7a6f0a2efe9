"""True labels, where somebody has them: to check a filter, never to select."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scopefl.data.embeddings import read_labels
from scopefl.data.scores_file import SCORED, ScoresFile
from scopefl.errors import ScopeError


def read_truth(path: Path, file: ScoresFile) -> NDArray[np.int64]:
    """Give the true class number of every row of a scores file, quarantined ones too, (rows,)."""
    truth: NDArray[Any] = read_labels(path, file.classes)
    if truth.shape != (file.table.num_rows,):
        raise ScopeError(
            f"{path} must hold one true label a row, {file.table.num_rows}, got shape {truth.shape}"
        )
    if truth.dtype.kind not in "iu" or (truth >= len(file.classes)).any():
        raise ScopeError(f"{path} must hold class numbers below {len(file.classes)} or class names")
    return truth.astype(np.int64)


def of_scored(truth: NDArray[np.int64], file: ScoresFile) -> NDArray[np.int64]:
    """Keep the true labels of the rows that have scores."""
    scored = pa.compute.equal(file.table["status"], SCORED).combine_chunks()
    rows: NDArray[np.int64] = truth[np.asarray(scored, bool)]
    return rows
