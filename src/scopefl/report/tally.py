"""Exact counts for the report: per class, per client, and how unbalanced they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from scopefl.report.collection import ANOMALOUS, KEPT, Collection

N_FATES = 3


@dataclass(frozen=True)
class Tally:
    """Samples per cell that is not empty: numbers of client, class and fate, and count (cells,)."""

    n_clients: int
    n_classes: int
    client: NDArray[np.int64]
    label: NDArray[np.int64]
    fate: NDArray[np.int64]
    count: NDArray[np.int64]

    @classmethod
    def of(cls, collection: Collection) -> "Tally":
        """Count the scored samples."""
        c, k = len(collection.classes), len(collection.clients)
        code = (collection.client.astype(np.int64) * c + collection.label) * N_FATES
        cell, count = np.unique(code + collection.fate, return_counts=True)
        rest, fate = np.divmod(cell, N_FATES)
        client, label = np.divmod(rest, c)
        return cls(k, c, client, label, fate, count.astype(np.int64))

    @classmethod
    def sum(cls, tallies: Sequence["Tally"]) -> "Tally":
        """Add up the counts of the same clients and classes."""
        first = tallies[0]
        code = np.concatenate(
            [(one.client * one.n_classes + one.label) * N_FATES + one.fate for one in tallies]
        )
        cell, back = np.unique(code, return_inverse=True)
        count = np.zeros(len(cell), np.int64)
        np.add.at(count, back, np.concatenate([one.count for one in tallies]))
        rest, fate = np.divmod(cell, N_FATES)
        client, label = np.divmod(rest, first.n_classes)
        return cls(first.n_clients, first.n_classes, client, label, fate, count)

    @cached_property
    def by_class(self) -> NDArray[np.int64]:
        """Count per class and fate, (C, 3)."""
        return self._by(self.label, self.n_classes)

    @cached_property
    def by_client(self) -> NDArray[np.int64]:
        """Count per client and fate, (K, 3)."""
        return self._by(self.client, self.n_clients)

    @property
    def total(self) -> NDArray[np.int64]:
        """Count per fate, (3,)."""
        total: NDArray[np.int64] = self.by_class.sum(axis=0)
        return total

    def _by(self, group: NDArray[np.int64], n: int) -> NDArray[np.int64]:
        table = np.zeros((n, N_FATES), np.int64)
        np.add.at(table, (group, self.fate), self.count)
        return table


@dataclass(frozen=True)
class Catch:
    """How the anomaly filter met labels that are known to be wrong."""

    wrong: int
    caught: int
    kept: int
    anomalous: int

    @classmethod
    def sum(cls, catches: Sequence["Catch | None"]) -> "Catch | None":
        """Add up those there are."""
        known = [(one.wrong, one.caught, one.kept, one.anomalous) for one in catches if one]
        return cls(*map(sum, zip(*known, strict=True))) if known else None

    @classmethod
    def of(cls, collection: Collection) -> "Catch | None":
        """Compare the fates with the true labels, where those are known."""
        known = collection.truth >= 0
        if not known.any():
            return None
        wrong = known & (collection.truth != collection.label)
        anomalous = collection.fate == ANOMALOUS
        return cls(
            int(wrong.sum()),
            int((wrong & anomalous).sum()),
            int((wrong & (collection.fate == KEPT)).sum()),
            int((known & anomalous).sum()),
        )
