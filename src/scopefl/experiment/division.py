"""Who holds what: our Dirichlet division, or one of Flower Datasets' partitioners by name."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import Labels
from scopefl.data.partition import FlowerPartitioner, Partition, dirichlet, flower_partition
from scopefl.errors import ScopeError
from scopefl.experiment.settings import Division, check_name

DIRICHLET = "dirichlet"
LABEL = "label"

Maker = Callable[[Any, Division, int], FlowerPartitioner]
"""From Flower's module of partitioners, the settings and a seed: the partitioner."""

FLOWER: dict[str, Maker] = {
    "iid": lambda flower, d, _: flower.IidPartitioner(d.clients),
    "linear": lambda flower, d, _: flower.LinearPartitioner(d.clients),
    "square": lambda flower, d, _: flower.SquarePartitioner(d.clients),
    "exponential": lambda flower, d, _: flower.ExponentialPartitioner(d.clients),
    "flower-dirichlet": lambda flower, d, seed: flower.DirichletPartitioner(
        d.clients, LABEL, d.alpha, d.min_size, self_balancing=False, seed=seed
    ),
    "shard": lambda flower, d, seed: flower.ShardPartitioner(
        d.clients, LABEL, num_shards_per_partition=d.classes_each, seed=seed
    ),
    # The first class of each client in turn, so that no class is left without a client.
    "pathological": lambda flower, d, seed: flower.PathologicalPartitioner(
        d.clients, LABEL, d.classes_each, "first-deterministic", seed=seed
    ),
}


def divide(
    labels: Labels, division: Division, rng: np.random.Generator, groups: NDArray[Any] | None
) -> Partition:
    """Give the rows of each client; samples of a group stay together."""
    check_name([DIRICHLET, *FLOWER], division.kind, "[partition] kind")
    if division.kind != DIRICHLET:
        return _by_flower(labels, division, rng, groups)
    return dirichlet(
        labels,
        division.clients,
        division.alpha,
        rng,
        min_size=division.min_size,
        groups=groups,
    )


def _by_flower(
    labels: Labels, division: Division, rng: np.random.Generator, groups: NDArray[Any] | None
) -> Partition:
    if groups is not None:
        raise ScopeError(
            f"this data set has groups that must stay together, which {division.kind} would part; "
            f"[partition] kind must be {DIRICHLET} for it"
        )
    try:
        from flwr_datasets import partitioner
    except ImportError:
        raise ScopeError(
            f"[partition] kind {division.kind} needs Flower Datasets; pip install scopefl[flower]"
        ) from None
    # Flower's partitioners of sizes take rows as they come, and ours come class by class.
    order = rng.permutation(len(labels))
    maker = FLOWER[division.kind](partitioner, division, int(rng.integers(1 << 31)))
    try:
        found = flower_partition(maker, labels[order], LABEL)
    except ValueError as refused:
        raise ScopeError(f"[partition] kind {division.kind}: {refused}") from refused
    return Partition(tuple(np.sort(order[rows]) for rows in found.rows))
