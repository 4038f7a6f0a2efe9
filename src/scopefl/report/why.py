"""Why one image was kept or dropped, in numbers and in words."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scopefl.core.coreset import AUTO
from scopefl.core.policy import Agreement, check_same_kit
from scopefl.core.scores import Floats, Scores
from scopefl.core.standard import anomaly, keys, redundancy, z_scores
from scopefl.data.batches import Coreset
from scopefl.data.coreset_file import FATES, CoresetFile
from scopefl.data.scores_file import QUARANTINED
from scopefl.errors import ScopeError
from scopefl.federation.by_file import Rule, choose
from scopefl.report.collection import ANOMALOUS, REDUNDANT, Collection, Site, collect
from scopefl.report.words import reason

KEEPS = tuple(f"{percent / 100:g}" for percent in range(1, 101))
ORDERS = {"anomaly": anomaly, "redundancy": redundancy}


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


@dataclass(frozen=True)
class _Part:
    """Some rows of a coreset beside each other, and what each order sorts them by."""

    coreset: CoresetFile
    collection: Collection
    z: Scores | None

    @classmethod
    def of(cls, coreset: CoresetFile, agreement: Agreement | None) -> "_Part":
        """Join what ranks need to know of the rows."""
        file = coreset.scores_file
        z = None if agreement is None else z_scores(file.scores, file.labels, agreement.policy)
        return cls(coreset, collect([Site(coreset)]), z)

    def keys(self, order: str) -> tuple[Floats, ...]:
        """Give what an order goes by: without the policy, ties of clipped values stay ties."""
        if self.z is None:
            return (getattr(self.collection, order),)
        return keys(ORDERS[order], self.z)

    def before(self, order: str, own: tuple[float, ...], name: str) -> NDArray[np.bool_]:
        """Mark the rows that come before an image, given its own keys and its id."""
        level = np.ones(len(self.collection), bool)
        before = ~level
        for key, value in zip(self.keys(order), own, strict=True):
            before |= level & (key > value)
            level &= key == value
        before[level] = self.collection.id[level] < name
        return before


def why(coreset: Coreset, image: str, agreement: Agreement | None = None) -> Why:
    """Explain one image, named by its id or its path."""
    if agreement is not None:
        check_same_kit(coreset.fingerprint, agreement.fingerprint, "the coreset", "the policy")
    part, row = _part_with(coreset, find(coreset, image))
    found = {name: values[0] for name, values in part.table.slice(row, 1).to_pydict().items()}
    known = (str(found["id"]), str(found["path"] or ""), str(found["label"] or "unknown"))
    if found["fate"] == QUARANTINED:
        return Why(*known, QUARANTINED, f"It could not be scored: {found['why']}.")
    near = _Part.of(part, agreement)
    here = int(np.flatnonzero(near.collection.row == row)[0])
    ranks = _ranks(coreset, near, here, agreement)
    return Why(
        *known,
        str(found["fate"]),
        reason(near.collection, here),
        near.collection.rival_name(here),
        {name: float(found[name]) for name in ("rs", "ds", "s_neg", "anomaly", "redundancy")},
        _z_of(near.z, here),
        tuple(ranks[:-1]),
        _spared(coreset, str(found["fate"]), known[0], ranks, agreement),
    )


def find(coreset: Coreset, image: str) -> int:
    """Give the row of an image by id, by path, or by a path that ends alike, the only such."""
    given = image.removeprefix("./")
    steps = given.split("/")
    ends = pa.array(["/".join(steps[at:]) for at in range(len(steps))])
    found: tuple[list[int], ...] = ([], [], [])
    start = 0
    for part in coreset.batches("id", "path"):
        ids, paths = part.table["id"], part.table["path"]
        alike = pc.or_kleene(pc.ends_with(paths, f"/{given}"), pc.is_in(paths, ends))
        tests = (pc.equal(ids, image), pc.equal(paths, image), alike)
        for rows, test in zip(found, tests, strict=True):
            rows += (start + np.flatnonzero(test.fill_null(False).to_numpy())).tolist()
        start += part.rows
    exact = found[0] or found[1]
    if exact or len(found[2]) == 1:
        return int((exact or found[2])[0])
    said = "no image" if not found[2] else f"{len(found[2])} images"
    raise ScopeError(
        f"{said} of the coreset's {coreset.rows} rows has the id or path {image!r}; "
        "give it as `scope select` wrote it"
    )


def _part_with(coreset: Coreset, row: int) -> tuple[CoresetFile, int]:
    """Give the rows around a row, and its place among those."""
    for part in coreset.batches():
        if row < part.rows:
            return part, row
        row -= part.rows
    raise AssertionError("a row that was found is in some part")


def _z_of(z: Scores | None, here: int) -> dict[str, float]:
    return {} if z is None else {m: float(getattr(z, m)[here]) for m in ("rs", "ds", "s_neg")}


def _ranks(coreset: Coreset, near: _Part, here: int, agreement: Agreement | None) -> list[Rank]:
    """Count who comes before an image: by both orders of all and of its class.

    The last rank is that by redundancy among what was left of its class after the anomalies.
    """
    own = {order: tuple(float(key[here]) for key in near.keys(order)) for order in ORDERS}
    name = str(near.collection.id[here])
    label = near.collection.label[here]
    before, of = Counter[str](), Counter[str]()
    for coreset_part in coreset.batches():
        part = _Part.of(coreset_part, agreement)
        alike = part.collection.label == label
        for order in ORDERS:
            first = part.before(order, own[order], name)
            for group, rows in {
                "all images": np.ones_like(alike),
                "its class": alike,
                "what was left": alike & (part.collection.fate != ANOMALOUS),
            }.items():
                before[f"{order}, {group}"] += int((first & rows).sum())
                of[f"{order}, {group}"] += int(rows.sum())
    told = [f"{order}, {group}" for order in ORDERS for group in ("all images", "its class")]
    told.append("redundancy, what was left")
    return [Rank(which, before[which] + 1, of[which]) for which in told]


def _spared(
    coreset: Coreset, fate: str, name: str, ranks: list[Rank], agreement: Agreement | None
) -> str:
    """Say which setting would have kept a sample that was dropped."""
    settings = coreset.settings
    if fate not in (FATES[ANOMALOUS], FATES[REDUNDANT]):
        return ""
    if settings.get("rule") == "budget":
        return _spared_by_keep(coreset, name, agreement)
    if fate == FATES[REDUNDANT]:
        return f"any p_f below {_below(ranks[-1])} would have kept it"
    if settings.get("p_l") == AUTO:
        return "p_l auto has no threshold; a fixed p_l of 0 calls nothing anomalous"
    return f"any p_l below {_below(ranks[0])} does not call it anomalous"


def _spared_by_keep(coreset: Coreset, name: str, agreement: Agreement | None) -> str:
    if agreement is None:
        return "give the policy to learn which keep fraction would have kept it"
    if not isinstance(coreset, CoresetFile):
        return "a larger keep fraction may; so many rows are not selected from again for one image"
    settings, file = coreset.settings, coreset.scores_file
    here = int(np.flatnonzero(file.ids == name)[0])
    for keep in KEEPS:
        rule = Rule(p_l=settings["p_l"], keep=keep, run=settings.get("run", ""))
        if Fraction(keep) <= Fraction(str(settings["keep"])):
            continue
        if choose(file, agreement, rule, settings["client"]).kept[here]:
            return f"keep {keep} would have kept it"
    return "no keep fraction below 1 keeps it"


def _below(rank: Rank) -> str:
    """Give place / of, rounded down: floor(p * of) reaches the place from there on.

    >>> _below(Rank("", 1, 3))
    '0.333333'
    """
    return f"{rank.place * 10**6 // rank.of / 10**6:g}"
