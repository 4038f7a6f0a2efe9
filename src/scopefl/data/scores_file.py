"""The scores file: a Parquet row for every input, scored or quarantined, and how it was scored."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scopefl.core.cells import METRICS
from scopefl.core.profile import Profile, check_scores
from scopefl.core.scores import Labels, Scores
from scopefl.data.files import replacing
from scopefl.errors import ScopeError

SCORED, QUARANTINED = "scored", "quarantined"
NOT_AT_ALL = "not at all"
"""How well the encoder reads the classes, at worst: `settings["fitness"]["verdict"]`."""
VERSION = 1
METADATA = b"scopefl"
CLASS = pa.dictionary(pa.int32(), pa.string())
SCORE_COLUMNS = {
    "id": pa.string(),
    "path": pa.string(),
    "label": CLASS,
    "rs": pa.float32(),
    "ds": pa.float32(),
    "s_neg": pa.float32(),
    "rival": CLASS,
    "status": pa.dictionary(pa.int32(), pa.string()),
    "reason": pa.dictionary(pa.int32(), pa.string()),
}


@dataclass(frozen=True)
class ScoresFile:
    """Every input of one site: `table` has SCORE_COLUMNS, the rest is what the scores depend on."""

    table: pa.Table
    classes: tuple[str, ...]
    fingerprint: bytes
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        scores: Scores,
        labels: Labels,
        classes: Sequence[str],
        fingerprint: bytes,
        *,
        ids: Sequence[str] | None = None,
        paths: Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> "ScoresFile":
        """Build the table of scored samples; ids are row numbers where none are given."""
        n = len(scores)
        names = pa.array(list(classes), pa.string())
        numbers = pa.array(np.arange(n)).cast(pa.string())
        columns = {
            "id": numbers if ids is None else pa.array(ids, pa.string()),
            "path": pa.nulls(n, pa.string()) if paths is None else pa.array(paths, pa.string()),
            "label": _named(labels, names),
            "rs": pa.array(scores.rs, pa.float32()),
            "ds": pa.array(scores.ds, pa.float32()),
            "s_neg": pa.array(scores.s_neg, pa.float32()),
            "rival": pa.nulls(n, CLASS) if scores.rival is None else _named(scores.rival, names),
            "status": pa.array([SCORED], pa.string()).dictionary_encode().take(pa.repeat(0, n)),
            "reason": pa.nulls(n, SCORE_COLUMNS["reason"]),
        }
        return cls(pa.table(columns), tuple(classes), fingerprint, dict(settings or {}))

    def among(
        self,
        scored: NDArray[np.bool_],
        *,
        ids: Sequence[str],
        paths: Sequence[str],
        labels: Sequence[str | None],
        reasons: Sequence[str | None],
    ) -> "ScoresFile":
        """Put the scored rows in their places among all inputs; the others are quarantined."""
        number = {name: place for place, name in enumerate(self.classes)}
        known = [None if label is None else number.get(label) for label in labels]
        status = pa.array([SCORED, QUARANTINED], pa.string())
        columns = {
            **dict(zip(SCORE_COLUMNS, self.table.take(_places(scored)).columns, strict=True)),
            "id": pa.array(ids, pa.string()),
            "path": pa.array(paths, pa.string()),
            "label": pa.DictionaryArray.from_arrays(
                pa.array(known, pa.int32()), pa.array(list(self.classes), pa.string())
            ),
            "status": pa.DictionaryArray.from_arrays(pa.array(~scored, pa.int32()), status),
            "reason": pa.array(reasons, pa.string()).dictionary_encode(),
        }
        return replace(self, table=pa.table(columns))

    @property
    def rows(self) -> int:
        """Count all inputs."""
        return int(self.table.num_rows)

    @cached_property
    def scored(self) -> pa.Table:
        """Give the rows that have scores."""
        return self.table.filter(pa.compute.equal(self.table["status"], SCORED))

    @property
    def quarantined(self) -> pa.Table:
        """Give the rows that have a reason instead of scores."""
        return self.table.filter(pa.compute.equal(self.table["status"], QUARANTINED))

    @cached_property
    def scores(self) -> Scores:
        """Give the scores of the scored rows."""
        rs, ds, s_neg = (self.scored[name].to_numpy() for name in METRICS)
        for metric, x in zip(METRICS, (rs, ds, s_neg), strict=True):
            check_scores(x, metric)
        rival = self.scored["rival"]
        known = rival.null_count == 0
        return Scores(rs, ds, s_neg, self._numbers("rival") if known else None)

    @cached_property
    def labels(self) -> Labels:
        """Give the class numbers of the scored rows."""
        return self._numbers("label")

    @property
    def ids(self) -> NDArray[Any]:
        """Give the ids of the scored rows."""
        return np.asarray(self.scored["id"].to_numpy(), object)

    def batches(self, *_columns: str) -> Iterator["ScoresFile"]:
        """Give the rows in order, here all at once."""
        yield self

    @property
    def parts(self) -> Iterator[tuple[Scores, Labels]]:
        """Give scores and labels of the scored rows, here in one part."""
        yield self.scores, self.labels

    @property
    def profile(self) -> Profile:
        """Sum up the scored rows."""
        return Profile.of(self.scores, self.labels, len(self.classes))

    def _numbers(self, column: str) -> NDArray[np.int32]:
        # A file of another writer may order its dictionary in its own way.
        chunked = self.scored[column].combine_chunks()
        encoded = chunked if isinstance(chunked, pa.DictionaryArray) else chunked.chunk(0)
        place = {name: number for number, name in enumerate(self.classes)}
        try:
            lookup = np.array([place[n] for n in encoded.dictionary.to_pylist()], np.int32)
        except KeyError as error:
            raise ScopeError(
                f"every {column} must be in the file's own class list, got {error.args[0]!r}"
            ) from None
        return lookup[encoded.indices.to_numpy()] if len(lookup) else np.zeros(0, np.int32)


def write_scores(file: ScoresFile, path: Path) -> None:
    """Write the scores file, whole or not at all."""
    write_table(file.table, path, "scores", file.classes, file.fingerprint, file.settings)


def read_scores(path: Path) -> ScoresFile:
    """Read and check a scores file."""
    return ScoresFile(*read_table(path, "scores", SCORE_COLUMNS))


def write_table(
    table: pa.Table,
    path: Path,
    kind: str,
    classes: Sequence[str],
    fingerprint: bytes,
    settings: Mapping[str, Any],
) -> None:
    """Write a table of ours with its metadata."""
    with writing(table.schema, path, kind, classes, fingerprint, settings) as writer:
        writer.write_table(table)


@contextmanager
def writing(
    schema: pa.Schema,
    path: Path,
    kind: str,
    classes: Sequence[str],
    fingerprint: bytes,
    settings: Mapping[str, Any],
) -> Iterator[pq.ParquetWriter]:
    """Lend a writer of a table of ours, which is there, whole, when all went well."""
    about = {
        "kind": kind,
        "version": VERSION,
        "classes": list(classes),
        "fingerprint": fingerprint.hex(),
        "settings": dict(settings),
    }
    text = json.dumps(about, sort_keys=True, ensure_ascii=False)
    repeated = [name for name in schema.names if _repeats(schema, name)]
    schema = schema.with_metadata({METADATA: text.encode()})
    with (
        replacing(path) as temporary,
        pq.ParquetWriter(temporary, schema, compression="zstd", use_dictionary=repeated) as writer,
    ):
        yield writer


def read_table(
    path: Path, kind: str, columns: Mapping[str, pa.DataType]
) -> tuple[pa.Table, tuple[str, ...], bytes, dict[str, Any]]:
    """Read a table of ours: it, its classes, fingerprint and settings; or say why it is not one."""
    about = check_about(path, kind, columns)
    with reading(path, kind):
        table = pq.read_table(path)
    return fitted(table, columns), *about


def check_about(
    path: Path, kind: str, columns: Mapping[str, pa.DataType]
) -> tuple[tuple[str, ...], bytes, dict[str, Any]]:
    """Give classes, fingerprint and settings of a table of ours, or say why it is not one."""
    about = read_about(path)
    if about.get("kind") != kind:
        raise ScopeError(f"{path} must be a {kind} file, it is a {about.get('kind')} file")
    if about.get("version") != VERSION:
        raise ScopeError(
            f"{path} has format version {about.get('version')} and this scopefl reads {VERSION}; "
            "install the scopefl that wrote it or make it again"
        )
    with reading(path, kind):
        names = pq.read_schema(path).names
    missing = [name for name in columns if name not in names]
    if missing:
        raise ScopeError(f"{path} must have the column {missing[0]!r}; make it again")
    return tuple(about["classes"]), bytes.fromhex(about["fingerprint"]), about["settings"]


def fitted(table: pa.Table, columns: Mapping[str, pa.DataType]) -> pa.Table:
    """Give these columns of a table, in their order and of their types."""
    return table.select(list(columns)).cast(pa.schema(list(columns.items())))


def read_about(path: Path) -> dict[str, Any]:
    """Read what a table of ours says of itself, without its rows."""
    with reading(path, "table"):
        metadata = pq.read_schema(path).metadata or {}
    try:
        about = json.loads(metadata[METADATA])
        if not (isinstance(about["classes"], list) and isinstance(about["settings"], dict)):
            raise ValueError
        bytes.fromhex(about["fingerprint"])
    except (KeyError, TypeError, ValueError):
        raise ScopeError(
            f"{path} must be a table that scope wrote; it lacks our metadata"
        ) from None
    return dict(about)


@contextmanager
def reading(path: Path, kind: str) -> Iterator[None]:
    """Say of a file that cannot be read which it is."""
    try:
        yield
    except (OSError, pa.ArrowException) as error:
        raise ScopeError(f"{path} must be a whole {kind} file of scope: {error}") from error


def _places(scored: NDArray[np.bool_]) -> pa.Array:
    return pa.array(np.cumsum(scored) - 1, pa.int64(), mask=~scored)


def _named(numbers: Labels, names: pa.Array) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(numbers, pa.int32()), names)


def _repeats(schema: pa.Schema, name: str) -> bool:
    return bool(pa.types.is_dictionary(schema.field(name).type))
