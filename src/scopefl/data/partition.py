"""How a collection is made long-tailed, noisy, and divided among clients, all by seed."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scopefl.core.order import Rows, by_class
from scopefl.core.scores import Labels
from scopefl.errors import ScopeError

MOST_TRIES = 1000


@dataclass(frozen=True)
class Partition:
    """The rows of each client, ascending, every row at exactly one; and how many draws failed."""

    rows: tuple[Rows, ...]
    retries: int = 0

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Count the samples of each client (K,)."""
        return np.array([len(rows) for rows in self.rows], np.int64)


class Noisy(NamedTuple):
    """Labels (N,) of which some were changed, and which: flipped (N,) bool."""

    labels: NDArray[np.int64]
    flipped: NDArray[np.bool_]


class FlowerPartitioner(Protocol):
    """What is used of a partitioner of Flower Datasets."""

    dataset: Any
    num_partitions: Any

    def load_partition(self, partition_id: int) -> Any:
        """Give one client's rows as a data set with the columns it was given."""
        ...


def tail_counts(available: Labels, imbalance_ratio: float, order: Rows) -> NDArray[np.int64]:
    """Give n_c = n_max * IR^(-k/(C-1)) for the class at place k of `order`, n_max at its largest.

    >>> tail_counts(np.array([100, 100, 100]), 4, order=np.array([2, 0, 1]))
    array([ 50,  25, 100])
    """
    if not (math.isfinite(imbalance_ratio) and imbalance_ratio >= 1):
        raise ScopeError(f"imbalance_ratio must be at least 1, got {imbalance_ratio}")
    place = np.empty(len(order))
    place[order] = np.arange(len(order))
    share = float(imbalance_ratio) ** (-place / max(len(order) - 1, 1))
    n_max = np.floor((available / share).min() + 1e-9)
    counts = np.rint(n_max * share).astype(np.int64)
    if counts.min() < 1:
        raise ScopeError(
            f"imbalance_ratio {imbalance_ratio:g} would leave class {order[-1]} empty, its head "
            f"class can have {n_max:.0f} samples; give a smaller ratio or more data"
        )
    fitting: NDArray[np.int64] = np.minimum(counts, available)
    return fitting


def long_tail(labels: Labels, imbalance_ratio: float, rng: np.random.Generator) -> Rows:
    """Give the rows, ascending, of a subset whose largest class is IR times its smallest.

    `rng` decides which real class is the head, and which samples of a class stay.
    """
    n_classes = int(labels.max()) + 1 if len(labels) else 0
    available = np.bincount(np.asarray(labels, np.intp), minlength=n_classes)
    if n_classes < 2 or available.min() == 0:
        raise ScopeError(
            f"a long tail needs at least 2 classes and a sample of each, got counts "
            f"{available.tolist()[:20]}; number the classes that are there from 0"
        )
    counts = tail_counts(available, imbalance_ratio, rng.permutation(n_classes))
    groups = by_class(labels, n_classes)
    kept = [rng.permutation(rows)[:n] for rows, n in zip(groups, counts, strict=True)]
    return np.sort(np.concatenate(kept))


def dirichlet(
    labels: Labels,
    n_clients: int,
    alpha: float,
    rng: np.random.Generator,
    *,
    min_size: int = 1,
    groups: NDArray[Any] | None = None,
) -> Partition:
    """Divide each class by shares drawn from Dir(alpha), until every client has `min_size`.

    With `groups` (N,) all samples of a group (a specimen, a patient) go to one client.
    `alpha=inf` divides each class evenly; `min_size=0` lets clients be empty.
    """
    _check_division(len(labels), n_clients, alpha, min_size)
    unit_of = np.arange(len(labels)) if groups is None else _numbered(groups)
    unit_class = _most_frequent(unit_of, labels)
    weight = np.bincount(unit_of, minlength=len(unit_class))
    by_label = by_class(unit_class, int(unit_class.max()) + 1)
    for retries in range(MOST_TRIES):
        client_of = np.empty(len(unit_class), np.intp)
        for rows in by_label:
            client_of[rng.permutation(rows)] = _owners(len(rows), n_clients, alpha, rng)
        if np.bincount(client_of, weight, minlength=n_clients).min() >= min_size:
            return Partition(tuple(by_class(client_of[unit_of], n_clients)), retries)
    raise ScopeError(
        f"no draw of {MOST_TRIES} gave each of {n_clients} clients {min_size} of {len(labels)} "
        f"samples at alpha {alpha:g}; give a larger alpha, fewer clients or a smaller min_size"
    )


def noisy(labels: Labels, n_classes: int, share: float, rng: np.random.Generator) -> Noisy:
    """Change floor(share * N) labels, drawn without replacement, each to any other class.

    >>> noisy(np.zeros(4, np.int64), 2, 0.5, np.random.default_rng(0)).labels.sum()
    np.int64(2)
    """
    if not 0 <= share <= 1:
        raise ScopeError(f"the share of noisy labels must be between 0 and 1, got {share}")
    if n_classes < 2:
        raise ScopeError(f"label noise needs at least 2 classes, got {n_classes}")
    count = math.floor(share * len(labels) + 1e-9)
    rows = rng.permutation(len(labels))[:count]
    changed = np.array(labels, np.int64)
    changed[rows] = (changed[rows] + rng.integers(1, n_classes, count)) % n_classes
    flipped = np.zeros(len(labels), bool)
    flipped[rows] = True
    return Noisy(changed, flipped)


def hold_out(groups: NDArray[Any], share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Mark (N,) the samples of a share of the groups: True is held out for testing."""
    if not 0 < share < 1:
        raise ScopeError(f"the share held out must be above 0 and below 1, got {share}")
    unit_of = _numbered(groups)
    n_units = int(unit_of.max()) + 1
    if n_units < 2:
        raise ScopeError("a share can be held out of at least 2 groups, got 1; split it by hand")
    count = min(max(round(share * n_units), 1), n_units - 1)
    held = np.zeros(n_units, bool)
    held[rng.permutation(n_units)[:count]] = True
    return np.asarray(held[unit_of])


def flower_partition(partitioner: FlowerPartitioner, labels: Labels, column: str) -> Partition:
    """Divide as a Flower Datasets partitioner says; `column` is what it calls the label."""
    from datasets import Dataset  # the extra [flower]

    partitioner.dataset = Dataset.from_dict({column: np.asarray(labels), "row": range(len(labels))})
    count = int(partitioner.num_partitions)
    shards = [partitioner.load_partition(client)["row"] for client in range(count)]
    rows = tuple(np.sort(np.asarray(shard[:], np.intp)) for shard in shards)
    if not np.array_equal(np.sort(np.concatenate(rows)), np.arange(len(labels))):
        raise ScopeError(
            f"{type(partitioner).__name__} must give each of {len(labels)} rows to exactly one "
            f"client, it gave {sum(map(len, rows))} in all; change its settings"
        )
    return Partition(rows)


def _owners(n: int, n_clients: int, alpha: float, rng: np.random.Generator) -> Rows:
    even = math.isinf(alpha)
    share = np.full(n_clients, 1 / n_clients) if even else rng.dirichlet([alpha] * n_clients)
    ends = np.rint(np.cumsum(share) * n).astype(np.intp)
    ends[-1] = n
    return np.repeat(np.arange(n_clients), np.diff(ends, prepend=0))


def _numbered(groups: NDArray[Any]) -> Rows:
    return np.unique(groups, return_inverse=True)[1]


def _most_frequent(unit_of: Rows, labels: Labels) -> Labels:
    counts = np.zeros((int(unit_of.max()) + 1, int(labels.max()) + 1), np.int64)
    np.add.at(counts, (unit_of, labels), 1)
    return np.asarray(counts.argmax(axis=1))


def _check_division(n: int, n_clients: int, alpha: float, min_size: int) -> None:
    if n_clients < 1:
        raise ScopeError(f"there must be at least 1 client, got {n_clients}")
    if not alpha > 0:
        raise ScopeError(f"alpha must be above 0, got {alpha}")
    if n < max(1, n_clients * min_size):
        raise ScopeError(
            f"{n_clients} clients of at least {min_size} samples need {n_clients * min_size}, "
            f"got {n}; give more data, fewer clients or a smaller min_size"
        )
