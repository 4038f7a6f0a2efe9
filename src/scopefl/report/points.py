"""The data behind the charts, column by column, as short as JSON allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.report.collection import Collection
from scopefl.report.tally import N_FATES, Tally

MOST_MAPPED = 2000
MOST_CELLS = 20_000
MOST_CLIENTS = 200
DIGITS = {"rs": 4, "s_neg": 4, "ds": 4, "anomaly": 3, "redundancy": 3}

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Clients:
    """The clients that the charts tell apart, and for each client (K,) its number among those.

    Where not all can be told apart, the rest goes by the last name, `pooled`.
    """

    names: list[str]
    number: NDArray[np.intp]
    pooled: str = ""

    @property
    def single(self) -> list[str]:
        """Name the clients that are not pooled."""
        return [name for name in self.names if name != self.pooled]

    @classmethod
    def of(cls, tally: Tally, clients: Sequence[str]) -> "Clients":
        """Name the largest clients; pool the rest where they are more than a chart can show."""
        order = np.argsort(-tally.by_client.sum(axis=1), kind="stable")
        named = order[: _affordable(tally, order)]
        names = [clients[place] for place in named]
        number = np.full(tally.n_clients, len(named))
        number[named] = np.arange(len(named))
        if len(named) == tally.n_clients:
            return cls(names, number)
        pooled = f"{tally.n_clients - len(named):,} smaller clients"
        return cls([*names, pooled], number, pooled)


def _affordable(tally: Tally, order: NDArray[np.intp]) -> int:
    per_client = np.bincount(tally.client, minlength=tally.n_clients)[order]
    within = int(np.searchsorted(np.cumsum(per_client), MOST_CELLS, side="right"))
    most = min(MOST_CLIENTS, max(1, within))
    return tally.n_clients if tally.n_clients <= most else most


def cells(tally: Tally, clients: Clients) -> Columns:
    """Give the counts per client, class and fate."""
    code = (clients.number[tally.client] * tally.n_classes + tally.label) * N_FATES + tally.fate
    cell, back = np.unique(code, return_inverse=True)
    count = np.bincount(back, tally.count, minlength=len(cell)).astype(np.int64)
    rest, fate = np.divmod(cell, N_FATES)
    client, label = np.divmod(rest, tally.n_classes)
    columns = {"client": client, "class": label, "fate": fate, "count": count}
    return {name: values.tolist() for name, values in columns.items()}


def points(collection: Collection, clients: Clients, rows: NDArray[np.intp]) -> Columns:
    """Give what the charts say of some samples."""
    columns: Columns = {
        "class": collection.label[rows].tolist(),
        "rival": collection.rival[rows].tolist(),
        "client": clients.number[collection.client[rows]].tolist(),
        "fate": collection.fate[rows].tolist(),
    }
    for name, digits in DIGITS.items():
        values = np.asarray(getattr(collection, name)[rows], np.float64)
        columns[name] = np.round(values, digits).tolist()
    columns["id"] = [str(name) for name in collection.id[rows]]
    return columns


def range_of(values: NDArray[np.floating[Any]]) -> tuple[float, float]:
    """Give the ends of an axis that shows all values with a little air.

    >>> range_of(np.array([0.0, 1.0]))
    (-0.04, 1.04)
    """
    if not len(values):
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())
    air = 0.04 * (high - low) or 0.05
    return round(low - air, 4), round(high + air, 4)
