"""What the file that a site is about to send would give away, and of which images."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scopefl.core.attacks import Recovered, added, reconstruct
from scopefl.core.envelope import LARGEST, MAGIC
from scopefl.core.privacy import fold
from scopefl.core.profile import Profile
from scopefl.core.release import Release
from scopefl.core.terms import Terms
from scopefl.data.batches import NUMBERS, ScoresTable, open_scores
from scopefl.data.files import read_bytes
from scopefl.data.scores_file import ScoresFile
from scopefl.errors import RefusedError, ScopeError

BY_MOMENTS = "its moments are its scores"
BY_DIFFERENCE = "it is what came since the last profile"
PROMISES: Mapping[str, str] = {
    "open": "every class as it is, to the coordinator; the totals to all",
    "min-cell": "classes of 5 and more as they are, to the coordinator; successive profiles differ "
    "by what came",
    "secure-sum": "the total of every class to the coordinator, of classes of 3 sites to all; a "
    "class that one site holds alone is its total",
    "secure-sum+dp": "noisy totals to all; epsilon and delta bound what any of it says of one "
    "specimen",
    "local-dp": "noisy classes of each site to the coordinator, noisy totals to all",
}


@dataclass(frozen=True)
class Finding:
    """One class whose images could be recovered: their scores, how, and their ids if known."""

    label: str
    rs: tuple[float, ...]
    how: str
    ids: tuple[str, ...]


def audit(path: Path, terms: Terms, before: Path | None = None) -> list[Finding]:
    """Attack what `path` (scores, a profile, a release) tells the coordinator on these terms."""
    with path.open("rb") as opened:
        is_message = opened.read(2) == MAGIC
    file = None if is_message else open_scores(path)
    sent = _sent(path) if file is None else fold(file.profile, terms.min_cell)
    if sent is None or (file is not None and (terms.masked or terms.noisy)):
        return []
    found = [(one, BY_MOMENTS) for one in reconstruct(sent)]
    if before is not None:
        earlier = _sent(before)
        if earlier is None:
            raise ScopeError(f"{before} is masked or noisy; there is nothing to take away from")
        found += [(one, BY_DIFFERENCE) for one in reconstruct(_since(earlier, sent))]
    return [_finding(one, how, file) for one, how in found]


def _since(earlier: Profile, sent: Profile) -> Profile:
    if earlier.n_classes != sent.n_classes:
        raise ScopeError("both profiles must be of one class list; score again with one kit")
    try:
        return added(earlier, sent)
    except ScopeError:
        raise RefusedError(
            "the earlier profile holds samples that the new one does not, so that what came is not "
            "told apart by one subtraction"
        ) from None


def _sent(path: Path) -> Profile | None:
    release = Release.from_bytes(read_bytes(path, LARGEST))
    return None if release.terms.masked or release.terms.noisy else release.profile


def _finding(one: Recovered, how: str, file: ScoresFile | ScoresTable | None) -> Finding:
    scores = tuple(float(x) for x in one.rs)
    if file is None:
        return Finding(str(one.label), scores, how, ())
    nearest = [(np.inf, "")] * len(scores)
    for part in file.batches(*NUMBERS, "id"):
        rows = np.flatnonzero(part.labels == one.label)
        rs, ids = np.asarray(part.scores.rs, np.float64)[rows], part.ids[rows]
        for place, x in enumerate(scores if len(rows) else ()):
            at = int(np.abs(rs - x).argmin())
            nearest[place] = min(nearest[place], (abs(rs[at] - x), str(ids[at])))
    return Finding(file.classes[one.label], scores, how, tuple(name for _, name in nearest))
