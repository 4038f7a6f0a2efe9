import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.experiment.division import FLOWER, divide
from scopefl.experiment.settings import Division

pytestmark = [
    # Hugging Face datasets sorts in a way that pyarrow will drop.
    pytest.mark.filterwarnings("ignore:Specifying null_placement:FutureWarning"),
    # Flower warns of every draw that it repeats.
    pytest.mark.filterwarnings("ignore:The specified min_partition_size:UserWarning"),
]

LABELS = np.repeat(np.arange(4), 30)


def rows_of(division, seed=0, groups=None):
    return divide(LABELS, division, np.random.default_rng(seed), groups).rows


@pytest.mark.slow
@pytest.mark.parametrize("kind", FLOWER)
def test_a_partitioner_of_flower_gives_every_row_to_one_client_by_seed(kind):
    pytest.importorskip("flwr_datasets")
    division = Division(kind=kind, clients=5)
    first, again, other = (rows_of(division, seed) for seed in (0, 0, 1))
    assert np.array_equal(np.sort(np.concatenate(first)), np.arange(len(LABELS)))
    assert all(map(np.array_equal, first, again))
    assert not all(map(np.array_equal, first, other))


@pytest.mark.slow
def test_sizes_and_classes_are_those_the_kind_says():
    pytest.importorskip("flwr_datasets")
    sizes = [len(rows) for rows in rows_of(Division(kind="linear", clients=5))]
    assert sizes == [8, 16, 24, 32, 40]
    few = rows_of(Division(kind="pathological", clients=8, classes_each=1))
    assert all(len(np.unique(LABELS[rows])) == 1 for rows in few)
    shards = rows_of(Division(kind="shard", clients=6, classes_each=1))
    assert [len(rows) for rows in shards] == [20] * 6
    skewed = rows_of(Division(kind="flower-dirichlet", clients=4, alpha=0.2, min_size=3))
    assert min(map(len, skewed)) >= 3
    mixed = rows_of(Division(kind="iid", clients=2))
    assert all(len(np.unique(LABELS[rows])) == 4 for rows in mixed)


def test_groups_are_not_parted():
    with pytest.raises(ScopeError, match="groups that must stay together"):
        rows_of(Division(kind="iid"), groups=np.arange(len(LABELS)) // 3)


def test_a_kind_nobody_knows_is_one_sentence():
    with pytest.raises(ScopeError, match="did you mean 'dirichlet'"):
        rows_of(Division(kind="dirichlett"))


def test_dirichlet_counts_the_draws_it_threw_away():
    division = Division(clients=6, alpha=0.2, min_size=8)
    drawn = [divide(LABELS, division, np.random.default_rng(s), None) for s in range(20)]
    assert max(one.retries for one in drawn) > 0
    assert all(one.sizes.min() >= 8 for one in drawn)
