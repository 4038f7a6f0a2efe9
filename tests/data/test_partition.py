import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.data.partition import (
    dirichlet,
    flower_partition,
    hold_out,
    long_tail,
    noisy,
    tail_counts,
)
from scopefl.errors import ScopeError

seeds = st.integers(0, 2**32 - 1)


def rng(seed=0):
    return np.random.default_rng(seed)


def test_the_published_long_tail_of_cifar10_at_ratio_10():
    counts = tail_counts(np.full(10, 5000), 10, np.arange(10))
    assert counts.tolist() == [5000, 3871, 2997, 2321, 1797, 1391, 1077, 834, 646, 500]


def test_the_head_is_as_large_as_the_scarcest_class_allows():
    # The last class may have a quarter of the head, and there are 20 of it: the head has 80.
    assert tail_counts(np.array([100, 90, 20]), 4, np.arange(3)).tolist() == [80, 40, 20]


def test_the_seed_decides_which_class_is_the_head():
    labels = np.repeat(np.arange(5), 40)
    heads = {np.bincount(labels[long_tail(labels, 10, rng(seed))]).argmax() for seed in range(40)}
    assert heads == set(range(5))


@given(seeds, st.integers(2, 12), st.sampled_from([1, 2, 5, 10, 50]), st.integers(50, 90))
def test_a_long_tail_has_the_ratio_asked_for_within_rounding(seed, n_classes, ratio, size):
    labels = rng(seed).permutation(np.repeat(np.arange(n_classes), size))
    rows = long_tail(labels, ratio, rng(seed))
    count = np.bincount(labels[rows])
    assert count.max() == size
    assert abs(count.min() - size / ratio) <= 0.5
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(rows, long_tail(labels, ratio, rng(seed)))


@pytest.mark.parametrize("ratio", [0.5, math.nan, math.inf, -2])
def test_a_ratio_that_is_no_ratio_is_refused(ratio):
    with pytest.raises(ScopeError, match="imbalance_ratio must be at least 1"):
        long_tail(np.array([0, 1]), ratio, rng())


def test_a_tail_of_no_samples_is_refused():
    with pytest.raises(ScopeError, match="a smaller ratio or more data"):
        long_tail(np.repeat([0, 1], 10), 50, rng())


@pytest.mark.parametrize("labels", [[], [0, 0], [0, 2]])
def test_a_long_tail_needs_every_class(labels):
    with pytest.raises(ScopeError, match="a sample of each"):
        long_tail(np.array(labels, np.int64), 2, rng())


@given(
    seeds,
    st.integers(1, 9),
    st.sampled_from([1e-8, 0.05, 0.1, 1.0, 100.0, math.inf]),
    st.lists(st.integers(0, 6), min_size=1, max_size=200),
)
def test_every_sample_is_at_exactly_one_client_and_the_seed_repeats(seed, clients, alpha, labels):
    labels = np.array(labels)
    one, two = (dirichlet(labels, clients, alpha, rng(seed), min_size=0) for _ in range(2))
    assert len(one.rows) == clients
    assert sorted(np.concatenate(one.rows)) == list(range(len(labels)))
    for mine, again in zip(one.rows, two.rows, strict=True):
        assert (np.diff(mine) > 0).all()
        np.testing.assert_array_equal(mine, again)


@given(seeds)
def test_every_client_has_at_least_the_least_size(seed):
    labels = np.arange(400) % 10
    partition = dirichlet(labels, 10, 0.3, rng(seed), min_size=10)
    assert partition.sizes.min() >= 10
    assert partition.sizes.sum() == 400


def test_draws_that_failed_are_counted():
    labels = np.arange(300) % 3
    needed = [dirichlet(labels, 6, 0.2, rng(seed), min_size=8).retries for seed in range(20)]
    assert 0 < max(needed) < 1000


def test_a_tiny_alpha_gives_whole_classes_and_empty_clients_if_they_are_allowed():
    labels = np.repeat([0, 1], 50)
    partition = dirichlet(labels, 10, 1e-8, rng(1), min_size=0)
    assert sorted(partition.sizes)[-2:] in ([50, 50], [0, 100])
    with pytest.raises(ScopeError, match="no draw of 1000 gave each of 10 clients 1 of 100"):
        dirichlet(labels, 10, 1e-8, rng(1))


def test_an_infinite_alpha_divides_every_class_evenly():
    labels = np.repeat([0, 1], 40)
    partition = dirichlet(labels, 4, math.inf, rng())
    assert [np.bincount(labels[rows]).tolist() for rows in partition.rows] == [[10, 10]] * 4


def test_a_small_alpha_is_more_skewed_than_a_large_one():
    labels = np.arange(5000) % 10

    def largest_share(alpha):
        rows = dirichlet(labels, 10, alpha, rng(3)).rows
        return np.mean([np.bincount(labels[mine]).max() / len(mine) for mine in rows])

    assert largest_share(0.1) > 0.4 > 0.2 > largest_share(100)


def test_a_group_stays_at_one_client():
    groups = np.repeat([f"specimen {i}" for i in range(30)], 7)
    labels = np.repeat(np.arange(30) % 3, 7)
    partition = dirichlet(labels, 4, 1.0, rng(), min_size=7, groups=groups)
    assert sum(len(set(groups[rows])) for rows in partition.rows) == 30
    assert partition.sizes.sum() == 210


@pytest.mark.parametrize(
    ("clients", "alpha", "least", "message"),
    [
        (0, 1.0, 1, "at least 1 client, got 0"),
        (2, 0.0, 1, "alpha must be above 0, got 0"),
        (2, math.nan, 1, "alpha must be above 0, got nan"),
        (4, 1.0, 2, "4 clients of at least 2 samples need 8, got 6"),
    ],
)
def test_a_division_that_cannot_be_is_refused(clients, alpha, least, message):
    with pytest.raises(ScopeError, match=message):
        dirichlet(np.zeros(6, np.int64), clients, alpha, rng(), min_size=least)


@given(seeds, st.integers(2, 5), st.sampled_from([0.0, 0.1, 0.3, 1.0]), st.integers(0, 60))
def test_noise_changes_exactly_its_share_and_nothing_else(seed, n_classes, share, n):
    labels = np.arange(n) % n_classes
    changed, flipped = noisy(labels, n_classes, share, rng(seed))
    assert flipped.sum() == math.floor(n * share + 1e-9)
    np.testing.assert_array_equal(changed != labels, flipped)
    assert ((changed >= 0) & (changed < n_classes)).all()


def test_noise_reaches_every_other_class_equally():
    changed = noisy(np.zeros(30_000, np.int64), 4, 1.0, rng()).labels
    assert np.bincount(changed)[0] == 0
    assert np.abs(np.bincount(changed)[1:] - 10_000).max() < 400


def test_noise_that_is_no_share_is_refused():
    with pytest.raises(ScopeError, match=r"between 0 and 1, got 1\.5"):
        noisy(np.zeros(3, np.int64), 2, 1.5, rng())
    with pytest.raises(ScopeError, match="at least 2 classes, got 1"):
        noisy(np.zeros(3, np.int64), 1, 0.5, rng())


def test_whole_groups_are_held_out():
    groups = np.repeat(["a", "b", "c", "d"], 5)
    held = hold_out(groups, 0.25, rng(4))
    assert held.sum() == 5
    assert len(set(groups[held])) == 1
    assert hold_out(groups, 0.01, rng()).sum() == 5
    assert hold_out(groups, 0.99, rng()).sum() == 15
    assert hold_out(np.array(["a", "b", "b"]), 0.5, rng()).sum() in (1, 2)


def test_nothing_can_be_held_out_of_one_group():
    with pytest.raises(ScopeError, match="at least 2 groups, got 1"):
        hold_out(np.zeros(4), 0.5, rng())
    with pytest.raises(ScopeError, match="above 0 and below 1, got 0"):
        hold_out(np.arange(4), 0, rng())


@pytest.mark.slow
def test_a_partitioner_of_flower_datasets_divides_too():
    partitioners = pytest.importorskip("flwr_datasets.partitioner")
    labels = np.arange(60) % 3
    partition = flower_partition(partitioners.SizePartitioner([10, 20, 30]), labels, "label")
    assert sorted(np.concatenate(partition.rows)) == list(range(60))
    assert partition.sizes.tolist() == [10, 20, 30]


class TwoOfThree:
    """A partitioner that forgets the last row."""

    dataset = None
    num_partitions = 2

    def load_partition(self, partition_id):
        return self.dataset.select([partition_id])


@pytest.mark.slow
def test_a_partitioner_that_forgets_rows_is_refused():
    pytest.importorskip("datasets")
    with pytest.raises(ScopeError, match="TwoOfThree must give each of 3 rows"):
        flower_partition(TwoOfThree(), np.arange(3), "label")
