"""What a site allows to happen to its own images, whatever the coordinator wishes."""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, fields
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection, anomaly, keys, redundancy, z_scores
from scopefl.core.order import Decimal, Ids, Rows, by_class, check_ids, exact, highest
from scopefl.core.policy import Policy
from scopefl.core.scores import Labels, Scores
from scopefl.data.files import read_bytes
from scopefl.errors import ScopeError

LARGEST_FILE = 1 << 16


@dataclass(frozen=True)
class Limits:
    """A site's own bounds: the largest share it lets be cut, the fewest images a class keeps."""

    largest_prune_fraction: Decimal = 1
    smallest_class_kept: int = 0

    def __post_init__(self) -> None:
        """Refuse bounds that mean nothing."""
        _ = self.share
        kept = self.smallest_class_kept
        if not isinstance(kept, int) or isinstance(kept, bool) or kept < 0:
            raise ScopeError(
                f"smallest_class_kept must be a whole number of at least 0, got {kept!r}"
            )

    @property
    def share(self) -> Fraction:
        """Give the largest share of the samples that may be dropped, exactly."""
        return exact("largest_prune_fraction", self.largest_prune_fraction, one_allowed=True)


def read_limits(path: Path) -> Limits:
    """Read the [limits] table of a site.toml."""
    try:
        site = tomllib.loads(read_bytes(path, LARGEST_FILE).decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ScopeError(f"{path} must be a TOML file: {error}") from error
    known = [field.name for field in fields(Limits)]
    table = site.get("limits", {})
    if not isinstance(table, dict) or set(site) - {"limits"}:
        raise ScopeError(f"{path} must hold one table, [limits], with {' and '.join(known)}")
    for name in set(table) - set(known):
        near = get_close_matches(name, known, 1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; it has {', '.join(known)}"
        raise ScopeError(f"[limits] of {path} has no setting {name!r}{hint}")
    return Limits(**table)


def within(
    limits: Limits,
    selection: Selection,
    scores: Scores,
    labels: Labels,
    policy: Policy,
    *,
    ids: Sequence[Any] | Ids | None = None,
) -> Selection:
    """Give back what the limits forbid to drop: the least redundant first, anomalies last.

    >>> scores = Scores(*np.float64([[0.2, 0.3], [0.9, 0.9], [0.1, 0.1]]))
    >>> policy = Policy(np.ones(1), np.zeros((3, 1)), np.ones((3, 1)))
    >>> none = Selection.dropping(np.zeros(2, bool), np.ones(2, bool))
    >>> within(Limits(smallest_class_kept=1), none, scores, np.array([0, 0]), policy).kept
    array([ True, False])
    """
    ids = check_ids(ids, len(scores))
    z = z_scores(scores, labels, policy)
    by_r, by_as = keys(lambda z: -redundancy(z), z), keys(lambda z: -anomaly(z), z)
    back = np.zeros(len(scores), bool)

    def give_back(count: int, rows: Rows) -> None:
        """Mark `count` of the rows that are dropped still."""
        redundant = rows[selection.redundant[rows] & ~back[rows]]
        anomalous = rows[selection.anomalous[rows] & ~back[rows]]
        back[highest(count, by_r, ids, redundant)] = True
        back[highest(count - len(redundant), by_as, ids, anomalous)] = True

    for rows in by_class(labels, len(policy.weight)):
        give_back(limits.smallest_class_kept - int(selection.kept[rows].sum()), rows)
    allowed = int(
        exact("largest_prune_fraction", limits.largest_prune_fraction, one_allowed=True)
        * len(scores)
    )
    dropped = int((~selection.kept & ~back).sum())
    give_back(dropped - allowed, np.arange(len(scores)))
    return _spared(selection, back)


def _spared(selection: Selection, back: NDArray[np.bool_]) -> Selection:
    return Selection.dropping(selection.anomalous & ~back, selection.redundant & ~back)
