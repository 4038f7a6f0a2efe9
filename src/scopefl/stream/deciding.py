"""Keep or drop at arrival: by what the last exact selection cut."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from scopefl.core.coreset import AUTO
from scopefl.core.fates import Counts
from scopefl.core.policy import Policy
from scopefl.core.scores import Floats
from scopefl.core.standard import anomaly, clipped, misplaced, redundancy, z_scores
from scopefl.data.coreset_file import FATES, CoresetFile
from scopefl.federation.by_file import Rule
from scopefl.stream.ledger import Row, labels_of, scores_of

KEPT, ANOMALOUS, REDUNDANT, QUARANTINED = range(len(FATES))
Fates = NDArray[np.int64]
"""Places in FATES."""


@dataclass(frozen=True)
class Cuts:
    """The lowest AS that was anomalous, the lowest R that was redundant per class (C,).

    In the budget rule, which spares all along R, `share` (C,) of a class was kept instead.
    """

    policy: Policy
    rule: Rule
    anomaly: float
    redundancy: NDArray[np.float64]
    share: NDArray[np.float64]

    @classmethod
    def of(
        cls, coreset: CoresetFile, policy: Policy, rule: Rule, seen: Counts | None = None
    ) -> "Cuts":
        """Read the cuts off an exact selection, from a store of what was `seen` (C,) if given."""
        scored = coreset.scores_file
        labels, n_classes = scored.labels, len(coreset.classes)
        fate = fates_of(coreset)
        fate = fate[fate != QUARANTINED]
        as_, r = (coreset.table[n].drop_null().to_numpy() for n in ("anomaly", "redundancy"))
        lowest_r = np.full(n_classes, np.inf)
        redundant = fate == REDUNDANT
        np.minimum.at(lowest_r, labels[redundant], r[redundant])
        kept = np.bincount(labels[fate == KEPT], minlength=n_classes)
        clean = kept + np.bincount(labels[redundant], minlength=n_classes)
        share = np.where(clean > 0, kept / np.maximum(clean, 1), 1.0)
        if seen is not None:
            share = share * np.bincount(labels, minlength=n_classes) / np.maximum(seen, 1)
        return cls(policy, rule, as_[fate == ANOMALOUS].min(initial=np.inf), lowest_r, share)

    def fates(self, rows: Sequence[Row]) -> Fates:
        """Decide on scored arrivals (N,), until the next exact selection has seen them."""
        scores, labels = scores_of(rows), labels_of(rows)
        z = z_scores(scores, labels, self.policy)
        known = self.policy.weight[labels] > 0
        if self.rule.p_l == AUTO:
            anomalous = misplaced(scores, self.policy, z)
        else:
            anomalous = _single(anomaly(clipped(z))) >= self.anomaly
        if self.rule.keep is None:
            redundant = _single(redundancy(clipped(z))) >= self.redundancy[labels]
        else:
            redundant = np.array([lot(row.id) for row in rows]) >= self.share[labels]
        fates = np.where(anomalous, ANOMALOUS, np.where(redundant, REDUNDANT, KEPT))
        return np.where(known, fates, KEPT)


def fates_of(coreset: CoresetFile) -> Fates:
    """Give every row's fate (N,)."""
    places = pa.compute.index_in(coreset.table["fate"].cast(pa.string()), pa.array(FATES))
    return np.asarray(places.to_numpy(), np.int64)


def lot(name: str) -> float:
    """Give an id its number in [0, 1), the same in every run and any order.

    >>> lot("cat/0001.png") == lot("cat/0001.png") < 1
    True
    """
    digest = hashlib.blake2b(name.encode(), digest_size=6).digest()
    return int.from_bytes(digest, "big") / (1 << 48)


def _single(values: Floats) -> NDArray[np.float32]:
    """Round as the coreset file does, so that a cut that was read back means the same."""
    return values.astype(np.float32)
