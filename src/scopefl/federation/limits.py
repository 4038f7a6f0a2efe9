"""What a site allows to happen to its own images, whatever the coordinator wishes."""

import tomllib
from dataclasses import dataclass, fields
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path

from scopefl.core.fates import ANOMALOUS, KEPT, REDUNDANT, Fates
from scopefl.core.order import Decimal, exact
from scopefl.core.standard import anomaly, redundancy, reverse
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


def give_back(limits: Limits, fates: Fates) -> None:
    """Keep again what the limits forbid to drop: the least redundant first, anomalies last."""
    redundant = fates.counts(REDUNDANT)
    whole = fates.counts(KEPT) + redundant + fates.counts(ANOMALOUS)
    lacking = limits.smallest_class_kept - fates.counts(KEPT)
    fates.turn_highest(lacking, reverse(redundancy), REDUNDANT, KEPT)
    fates.turn_highest(lacking - redundant, reverse(anomaly), ANOMALOUS, KEPT)
    redundant = fates.counts(REDUNDANT)
    dropped = int((redundant + fates.counts(ANOMALOUS)).sum())
    beyond = dropped - int(limits.share * int(whole.sum()))
    fates.turn_highest_of_all(beyond, reverse(redundancy), REDUNDANT, KEPT)
    fates.turn_highest_of_all(beyond - int(redundant.sum()), reverse(anomaly), ANOMALOUS, KEPT)
