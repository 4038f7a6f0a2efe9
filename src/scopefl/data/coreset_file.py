"""The coreset file: a Parquet row for every input with its fate and, in words, why."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scopefl.core.coreset import Selection
from scopefl.core.policy import Policy
from scopefl.core.profile import Profile
from scopefl.core.scores import Floats
from scopefl.core.standard import anomaly, clipped_z, redundancy
from scopefl.data.scores_file import (
    CLASS,
    QUARANTINED,
    SCORE_COLUMNS,
    SCORED,
    ScoresFile,
    read_table,
    write_table,
)
from scopefl.errors import ScopeError

FATES = ("kept", "anomalous", "redundant", QUARANTINED)
WORDS = pa.dictionary(pa.int32(), pa.string())
CORESET_COLUMNS = {
    "id": pa.string(),
    "path": pa.string(),
    "label": CLASS,
    "rs": pa.float32(),
    "ds": pa.float32(),
    "s_neg": pa.float32(),
    "rival": CLASS,
    "anomaly": pa.float32(),
    "redundancy": pa.float32(),
    "fate": WORDS,
    "why": WORDS,
}
WHY = {
    "kept": "neither anomalous nor redundant under this policy",
    "anomalous": "closer to {rival} than is usual for {label}, measured against all sites",
    "redundant": "{label} is common at the sites, and enough images of it stay without this one",
}


@dataclass(frozen=True)
class CoresetFile:
    """Every input of one site with its fate: `table` has CORESET_COLUMNS."""

    table: pa.Table
    classes: tuple[str, ...]
    fingerprint: bytes
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> int:
        """Count all inputs."""
        return int(self.table.num_rows)

    def batches(self, *_columns: str) -> Iterator["CoresetFile"]:
        """Give the rows in order, here all at once."""
        yield self

    @property
    def profile(self) -> Profile:
        """Sum up the scored rows."""
        return self.scores_file.profile

    @property
    def fates(self) -> dict[str, int]:
        """Count the samples of each fate."""
        counted = {
            row["values"]: row["counts"] for row in self.table["fate"].value_counts().to_pylist()
        }
        return {fate: counted.get(fate, 0) for fate in FATES}

    @cached_property
    def fate(self) -> NDArray[np.int32]:
        """Give every row's fate as a number into FATES."""
        place = {name: number for number, name in enumerate(FATES)}
        encoded = self.table["fate"].cast(pa.string()).combine_chunks().dictionary_encode()
        words = encoded.dictionary.to_pylist()
        strange = [word for word in words if word not in place]
        if strange or encoded.null_count:
            raise ScopeError(
                f"every fate must be one of {', '.join(FATES)}, got {(strange or ['none'])[0]!r}; "
                "make the coreset again"
            )
        lookup = np.array([place[word] for word in words], np.int32)
        return lookup[encoded.indices.to_numpy()] if len(lookup) else np.zeros(0, np.int32)

    @cached_property
    def scores_file(self) -> ScoresFile:
        """Give back the scores that this coreset was selected from."""
        fate = self.table["fate"].cast(pa.string())
        dropped_unseen = pa.compute.equal(fate, QUARANTINED)
        reason = pa.compute.if_else(dropped_unseen, self.table["why"].cast(pa.string()), None)
        columns = {name: self.table[name] for name in SCORE_COLUMNS if name in CORESET_COLUMNS}
        columns["status"] = pa.compute.if_else(dropped_unseen, QUARANTINED, SCORED)
        columns["reason"] = reason
        schema = pa.schema(list(SCORE_COLUMNS.items()))
        table = pa.table(columns).cast(schema)
        return ScoresFile(table, self.classes, self.fingerprint, self.settings)


def coreset_of(
    file: ScoresFile, selection: Selection, policy: Policy, settings: Mapping[str, Any]
) -> CoresetFile:
    """Join a selection over the scored rows to all rows of a scores file."""
    n = file.table.num_rows
    scored = np.asarray(pa.compute.equal(file.table["status"], SCORED).combine_chunks())
    z = clipped_z(file.scores, file.labels, policy)
    fate = np.full(n, FATES.index(QUARANTINED), np.int32)
    fate[scored] = selection.fate
    columns = {name: file.table[name] for name in SCORE_COLUMNS if name in CORESET_COLUMNS}
    columns["anomaly"] = _spread(anomaly(z), scored)
    columns["redundancy"] = _spread(redundancy(z), scored)
    columns["fate"] = pa.DictionaryArray.from_arrays(pa.array(fate), pa.array(FATES))
    columns["why"] = _why(file, fate, scored)
    table = pa.table(columns)
    return CoresetFile(table, file.classes, file.fingerprint, {**file.settings, **settings})


def write_coreset(file: CoresetFile, path: Path) -> None:
    """Write the coreset file, whole or not at all."""
    write_table(file.table, path, "coreset", file.classes, file.fingerprint, file.settings)


def read_coreset(path: Path) -> CoresetFile:
    """Read and check a coreset file."""
    return CoresetFile(*read_table(path, "coreset", CORESET_COLUMNS))


def _spread(values: Floats, scored: NDArray[np.bool_]) -> pa.Array:
    wide = np.zeros(len(scored), np.float32)
    wide[scored] = values
    return pa.array(wide, mask=~scored)


def _why(file: ScoresFile, fate: NDArray[np.int32], scored: NDArray[np.bool_]) -> pa.Array:
    """Write each distinct sentence once: by fate, label and rival, or why it was quarantined."""
    reasons = file.table["reason"].cast(pa.string()).combine_chunks()
    if not len(file.scores):
        return reasons.dictionary_encode()
    rival = file.scores.rival
    rivals = np.zeros(len(file.scores), np.int32) if rival is None else rival
    n_classes = len(file.classes)
    code = (fate[scored].astype(np.int64) * n_classes + file.labels) * n_classes + rivals
    distinct, place = np.unique(code, return_inverse=True)
    sentences = [_sentence(int(one), file.classes, rival is not None) for one in distinct]
    wide = np.zeros(len(scored), np.int32)
    wide[scored] = place
    why = pa.DictionaryArray.from_arrays(pa.array(wide, mask=~scored), pa.array(sentences))
    return pa.compute.coalesce(why.cast(pa.string()), reasons).dictionary_encode()


def _sentence(code: int, classes: tuple[str, ...], with_rival: bool) -> str:
    rest, rival = divmod(code, len(classes))
    fate, label = divmod(rest, len(classes))
    other = classes[rival] if with_rival else "another class"
    return WHY[FATES[fate]].format(label=classes[label], rival=other)
