"""Why one image was kept or dropped, in numbers and in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa

from scopefl.core.coreset import AUTO
from scopefl.core.order import Rows, ranked
from scopefl.core.policy import Agreement, check_same_kit
from scopefl.core.scores import Floats, Scores
from scopefl.core.standard import anomaly, keys, redundancy, z_scores
from scopefl.data.coreset_file import CoresetFile
from scopefl.data.scores_file import QUARANTINED
from scopefl.errors import ScopeError
from scopefl.federation.by_file import Rule, choose
from scopefl.report.collection import ANOMALOUS, REDUNDANT, Collection, Site, collect
from scopefl.report.words import reason

Keys = Sequence[Floats]
KEEPS = tuple(f"{percent / 100:g}" for percent in range(1, 101))


@dataclass(frozen=True)
class Rank:
    """A place among others, 1 the highest."""

    name: str
    place: int
    of: int


@dataclass(frozen=True)
class Why:
    """All that is known of one image: `z` needs the policy and is empty without it."""

    id: str
    path: str
    label: str
    fate: str
    sentence: str
    rival: str = ""
    scores: Mapping[str, float] = field(default_factory=dict)
    z: Mapping[str, float] = field(default_factory=dict)
    ranks: tuple[Rank, ...] = ()
    spared: str = ""


def why(coreset: CoresetFile, image: str, agreement: Agreement | None = None) -> Why:
    """Explain one image, named by its id or its path."""
    row = find(coreset, image)
    found = {name: values[0] for name, values in coreset.table.slice(row, 1).to_pydict().items()}
    known = (str(found["id"]), str(found["path"] or ""), str(found["label"] or "unknown"))
    if found["fate"] == QUARANTINED:
        return Why(*known, QUARANTINED, f"It could not be scored: {found['why']}.")
    collection = collect([Site(coreset)])
    here = int(np.flatnonzero(collection.row == row)[0])
    z = None if agreement is None else _z(coreset, agreement)
    by_as = keys(anomaly, z) if z else (collection.anomaly,)
    by_r = keys(redundancy, z) if z else (collection.redundancy,)
    return Why(
        *known,
        str(found["fate"]),
        reason(collection, here),
        collection.rival_name(here),
        {name: float(found[name]) for name in ("rs", "ds", "s_neg", "anomaly", "redundancy")},
        {name: float(getattr(z, name)[here]) for name in ("rs", "ds", "s_neg")} if z else {},
        _ranks(collection, here, by_as, by_r),
        _spared(coreset, collection, here, (by_as, by_r), agreement),
    )


def find(coreset: CoresetFile, image: str) -> int:
    """Give the row of an image by id, by path, or by a path that ends alike, the only such."""
    ids, paths = (coreset.table[name] for name in ("id", "path"))
    for test in (pa.compute.equal(ids, image), pa.compute.equal(paths, image)):
        rows = np.flatnonzero(test.fill_null(False).to_numpy())
        if len(rows):
            return int(rows[0])
    given = f"/{image.removeprefix('./')}"
    known = [f"/{path}" for path in paths.to_pylist()]
    rows = np.flatnonzero([path.endswith(given) or given.endswith(path) for path in known])
    if len(rows) == 1:
        return int(rows[0])
    said = "no image" if not len(rows) else f"{len(rows)} images"
    raise ScopeError(
        f"{said} of the coreset's {coreset.table.num_rows} rows has the id or path {image!r}; "
        "give it as `scope select` wrote it"
    )


def _z(coreset: CoresetFile, agreement: Agreement) -> Scores:
    check_same_kit(coreset.fingerprint, agreement.fingerprint, "the coreset", "the policy")
    file = coreset.scores_file
    return z_scores(file.scores, file.labels, agreement.policy)


def _rank(collection: Collection, here: int, by: Keys, rows: Rows, name: str) -> Rank:
    order = ranked(by, collection.id, rows)
    return Rank(name, int(np.flatnonzero(order == here)[0]) + 1, len(rows))


def _ranks(collection: Collection, here: int, by_as: Keys, by_r: Keys) -> tuple[Rank, ...]:
    everyone = np.arange(len(collection))
    alike = np.flatnonzero(collection.label == collection.label[here])
    return (
        _rank(collection, here, by_as, everyone, "anomaly, all images"),
        _rank(collection, here, by_as, alike, "anomaly, its class"),
        _rank(collection, here, by_r, everyone, "redundancy, all images"),
        _rank(collection, here, by_r, alike, "redundancy, its class"),
    )


def _spared(
    coreset: CoresetFile,
    collection: Collection,
    here: int,
    by: tuple[Keys, Keys],
    agreement: Agreement | None,
) -> str:
    """Say which setting would have kept a sample that was dropped."""
    fate, settings = collection.fate[here], coreset.settings
    if fate not in (ANOMALOUS, REDUNDANT):
        return ""
    if settings.get("rule") == "budget":
        return _spared_by_keep(coreset, here, agreement)
    if fate == ANOMALOUS and settings.get("p_l") == AUTO:
        return "p_l auto has no threshold; a fixed p_l of 0 calls nothing anomalous"
    if fate == ANOMALOUS:
        rank = _rank(collection, here, by[0], np.arange(len(collection)), "")
        return f"any p_l below {_below(rank)} does not call it anomalous"
    left = (collection.fate != ANOMALOUS) & (collection.label == collection.label[here])
    rank = _rank(collection, here, by[1], np.flatnonzero(left), "")
    return f"any p_f below {_below(rank)} would have kept it"


def _spared_by_keep(coreset: CoresetFile, here: int, agreement: Agreement | None) -> str:
    if agreement is None:
        return "give the policy to learn which keep fraction would have kept it"
    settings = coreset.settings
    for keep in KEEPS:
        rule = Rule(p_l=settings["p_l"], keep=keep, run=settings.get("run", ""))
        if Fraction(keep) <= Fraction(str(settings["keep"])):
            continue
        if choose(coreset.scores_file, agreement, rule, settings["client"]).kept[here]:
            return f"keep {keep} would have kept it"
    return "no keep fraction below 1 keeps it"


def _below(rank: Rank) -> str:
    """Give place / of, rounded down: floor(p * of) reaches the place from there on.

    >>> _below(Rank("", 1, 3))
    '0.333333'
    """
    return f"{rank.place * 10**6 // rank.of / 10**6:g}"
