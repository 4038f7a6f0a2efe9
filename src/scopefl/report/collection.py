"""All rows of one or more coresets side by side, as plain arrays."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scopefl.core.order import Rows
from scopefl.core.policy import check_same_kit
from scopefl.data.batches import Coreset
from scopefl.data.coreset_file import FATES, CoresetFile
from scopefl.data.scores_file import QUARANTINED
from scopefl.errors import ScopeError

Columns = dict[str, Any]
Pixels = Callable[[str, str | None], NDArray[np.uint8] | None]
"""From a sample's id and path to (H, W, 3) uint8, or None where the image is not to be had."""

KEPT, ANOMALOUS, REDUNDANT = range(3)
SHOWN_FATES = FATES[:3]
COLUMNS = (
    "client", "row", "place", "id", "path", "label", "rival", "fate",
    "rs", "ds", "s_neg", "anomaly", "redundancy", "truth",
)  # fmt: skip


@dataclass(frozen=True)
class Site:
    """One coreset and what else is known of its rows, in its order.

    `truth` (rows,) has class numbers, -1 where unknown; `embeddings` (rows, D) may leave out the
    quarantined rows.
    """

    coreset: Coreset
    name: str = ""
    file: str = ""
    sha256: str = ""
    embeddings: NDArray[np.floating[Any]] | None = None
    truth: NDArray[np.integer[Any]] | None = None
    pixels: Pixels | None = None

    @property
    def client(self) -> str:
        """Name the site: as given, else as in the coreset's settings, else by its file."""
        return self.name or str(self.coreset.settings.get("client") or self.file or "this site")


@dataclass(frozen=True)
class Quarantined:
    """One input that could not be scored."""

    client: str
    id: str
    path: str
    reason: str


@dataclass(frozen=True)
class Collection:
    """The scored rows of all sites: arrays (N,), numbers into `classes` and `clients`.

    `row` and `place` number a sample among all rows of its site and among its scored ones;
    `rival` and `truth` are -1 where unknown; `embeddings` (N, D) or None where any is missing.
    """

    classes: tuple[str, ...]
    clients: tuple[str, ...]
    client: NDArray[np.int32]
    row: NDArray[np.int64]
    place: NDArray[np.int64]
    id: NDArray[np.object_]
    path: NDArray[np.object_]
    label: NDArray[np.int32]
    rival: NDArray[np.int32]
    fate: NDArray[np.int32]
    rs: NDArray[np.float32]
    ds: NDArray[np.float32]
    s_neg: NDArray[np.float32]
    anomaly: NDArray[np.float32]
    redundancy: NDArray[np.float32]
    truth: NDArray[np.int32]
    embeddings: NDArray[np.floating[Any]] | None
    quarantined: tuple[Quarantined, ...]
    pixels: tuple[Pixels | None, ...]
    whole: bool = True
    """Whether these are all scored rows, and not a choice of them."""

    def __len__(self) -> int:
        """Count the scored samples."""
        return len(self.label)

    def only(self, rows: Rows, most_lost: int) -> "Collection":
        """Give some of the rows, and the first of the quarantined inputs."""
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        lost = self.quarantined[:most_lost]
        return replace(self, quarantined=lost, whole=False, **columns)

    def rival_name(self, row: int) -> str:
        """Name the rival class of a sample, if it is known."""
        return self.classes[self.rival[row]] if self.rival[row] >= 0 else "another class"

    def image(self, row: int) -> NDArray[np.uint8] | None:
        """Give the picture of a sample as the encoder saw it, where it can be had."""
        pixels = self.pixels[self.client[row]]
        return None if pixels is None else pixels(str(self.id[row]), self.path[row])


def collect(sites: Sequence[Site]) -> Collection:
    """Join the coresets of sites that used one kit."""
    check_sites(sites)
    return with_embeddings(joined(list(parts(sites))), sites)


def check_sites(sites: Sequence[Site]) -> None:
    """Refuse to join no coresets, or those of different kits."""
    if not sites:
        raise ScopeError("a report needs at least one coreset, got none")
    first = sites[0]
    for other in sites[1:]:
        check_same_kit(
            first.coreset.fingerprint, other.coreset.fingerprint, first.client, other.client
        )


def parts(sites: Sequence[Site]) -> Iterator[Collection]:
    """Give the rows of all sites in their order, as many at a time as each coreset gives."""
    clients = distinct([site.client for site in sites])
    pixels = tuple(site.pixels for site in sites)
    for number, site in enumerate(sites):
        row = place = 0
        for part in site.coreset.batches():
            columns = _columns(part, site, number, row)
            columns["place"] = place + np.arange(len(columns["label"]))
            yield Collection(
                classes=site.coreset.classes,
                clients=clients,
                embeddings=None,
                quarantined=tuple(_quarantined(part, site.client)),
                pixels=pixels,
                **columns,
            )
            row, place = row + part.rows, place + len(columns["label"])


def joined(some: Sequence[Collection]) -> Collection:
    """Put rows of the same sites one after another."""
    first = some[0]
    columns: Columns = {
        name: np.concatenate([getattr(one, name) for one in some]) for name in COLUMNS
    }
    lost = tuple(row for one in some for row in one.quarantined)
    return replace(first, quarantined=lost, **columns)


def with_embeddings(collection: Collection, sites: Sequence[Site]) -> Collection:
    """Give the rows with their embeddings, where every site has some."""
    found = []
    ends = np.searchsorted(collection.client, np.arange(len(sites) + 1))
    for site, (start, end) in zip(sites, pairwise(ends), strict=True):
        if site.embeddings is None:
            return collection
        rows = site.coreset.rows
        scored = rows - site.coreset.fates[QUARANTINED]
        if site.embeddings.ndim != 2 or len(site.embeddings) not in (rows, scored):
            raise ScopeError(
                f"embeddings must have one row for each of the {rows} rows of {site.client} "
                f"(or of its {scored} scored ones), got {site.embeddings.shape}"
            )
        which = collection.row if len(site.embeddings) == rows else collection.place
        found.append(site.embeddings[which[start:end]])
    return replace(collection, embeddings=np.concatenate(found))


def distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Number the names that come again.

    >>> distinct(["a", "b", "a"])
    ('a', 'b', 'a (2)')
    """
    seen: dict[str, int] = {}
    out = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        out.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return tuple(out)


def _columns(coreset: CoresetFile, site: Site, number: int, start: int) -> Columns:
    fate = coreset.fate
    scored = np.flatnonzero(fate < FATES.index(QUARANTINED))
    file = coreset.scores_file
    table = file.scored
    n = len(scored)
    rival = file.scores.rival
    truth = np.full(n, -1, np.int32) if site.truth is None else _truth(site, start + scored)
    return {
        "client": np.full(n, number, np.int32),
        "row": start + scored,
        "id": np.asarray(table["id"].to_numpy(), object),
        "path": np.asarray(table["path"].to_numpy(), object),
        "label": np.asarray(file.labels, np.int32),
        "rival": np.full(n, -1, np.int32) if rival is None else np.asarray(rival, np.int32),
        "fate": fate[scored],
        **{name: np.asarray(table[name].to_numpy(), np.float32) for name in ("rs", "ds", "s_neg")},
        "anomaly": _scored_column(coreset, "anomaly", scored),
        "redundancy": _scored_column(coreset, "redundancy", scored),
        "truth": truth,
    }


def _scored_column(coreset: CoresetFile, name: str, rows: NDArray[np.int64]) -> NDArray[np.float32]:
    return np.asarray(coreset.table[name].to_numpy(), np.float32)[rows]


def _truth(site: Site, rows: NDArray[np.int64]) -> NDArray[np.int32]:
    truth = np.asarray(site.truth)
    n = site.coreset.rows
    if truth.shape != (n,):
        raise ScopeError(
            f"true labels must have one entry a row of {site.client}, ({n},), got {truth.shape}"
        )
    return np.asarray(truth[rows], np.int32)


def _quarantined(coreset: CoresetFile, client: str) -> list[Quarantined]:
    table = coreset.table
    rows = table.filter(pa.compute.equal(table["fate"].cast(pa.string()), QUARANTINED))
    return [
        Quarantined(client, row["id"] or "", row["path"] or "", row["why"] or "unknown")
        for row in rows.select(["id", "path", "why"]).to_pylist()
    ]
