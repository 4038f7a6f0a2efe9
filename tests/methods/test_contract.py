"""Laws that every coreset method keeps, whatever its idea."""

from dataclasses import replace

import numpy as np
import pytest

from scopefl.core.scores import Scores, score
from scopefl.methods import METHODS, Budget, Client, Trained

N_CLASSES = 4
DIM = 6

every_method = pytest.mark.parametrize("name", METHODS)


@pytest.fixture(autouse=True)
def _needs_kmedoids(request):
    if request.node.callspec.params.get("name") == "fedcore":
        pytest.importorskip("kmedoids")


def client(labels, seed=0, *, name="a", ties=False, order=None):
    labels = np.asarray(labels, np.int64)
    rng = np.random.default_rng(seed)
    n = len(labels)
    rows = rng.normal(size=(n, DIM)) + 2 * np.eye(N_CLASSES, DIM)[labels]
    if ties:
        rows[:] = np.arange(1, DIM + 1)
    embeddings = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    prototypes = np.eye(N_CLASSES, DIM, dtype=np.float32)
    scores = score(embeddings, prototypes, labels)
    forgotten = np.zeros(n, np.int64) if ties else rng.integers(0, 4, n)
    warm = Trained(embeddings, (5 * embeddings @ prototypes.T), forgotten)
    order = np.arange(n) if order is None else order
    ids = np.array([f"id{i:03d}" for i in range(n)])
    return Client.of(
        name,
        ids[order],
        labels[order],
        N_CLASSES,
        scores[order],
        embeddings[order],
        warm=[warm[order]],
        seed=7,
    )


def clients(**kwargs):
    skewed = [[0] * 20 + [1] * 8 + [2] * 3, [1] * 9 + [2] * 2 + [3] * 15, [3] * 5]
    return [client(labels, place, name=str(place), **kwargs) for place, labels in enumerate(skewed)]


def selections(name, group, budget):
    method = METHODS[name]
    agreed = method.agree([method.summarize(one) for one in group])
    return [method.select(one, agreed, budget) for one in group]


def kept_ids(group, chosen):
    return [one.ids[s.kept].tolist() for one, s in zip(group, chosen, strict=True)]


@every_method
@pytest.mark.parametrize("p_f", [0, 0.3, 0.9])
def test_every_sample_has_exactly_one_fate(name, p_f):
    group = clients()
    for one, s in zip(group, selections(name, group, Budget(p_f=p_f)), strict=True):
        fates = np.stack([s.kept, s.anomalous, s.redundant])
        assert fates.dtype == bool
        assert (fates.sum(axis=0) == 1).all()
        assert fates.shape == (3, len(one))


@every_method
def test_the_same_call_gives_the_same_selection(name):
    group = clients()
    first, second = (kept_ids(group, selections(name, group, Budget())) for _ in range(2))
    assert first == second


@every_method
@pytest.mark.parametrize("ties", [False, True])
def test_the_order_of_samples_decides_nothing(name, ties):
    labels = [0] * 20 + [1] * 8 + [2] * 3
    shuffled = np.random.default_rng(1).permutation(len(labels))
    plain, other = client(labels, ties=ties), client(labels, ties=ties, order=shuffled)
    for budget in (Budget(), Budget(count=11)):
        assert kept_ids([plain], selections(name, [plain], budget)) == kept_ids(
            [other], selections(name, [other], budget)
        )


@every_method
@pytest.mark.parametrize("count", [0, 1, 4, 1000])
def test_a_count_asked_for_is_kept_exactly(name, count):
    if METHODS[name].matches != "client":
        return
    group = clients()
    chosen = selections(name, group, Budget(count=count))
    assert [int(s.kept.sum()) for s in chosen] == [min(count, len(one)) for one in group]


@every_method
@pytest.mark.parametrize("labels", [[], [2], [2, 2], [1] * 12, [0, 1, 2, 3]])
def test_a_small_or_one_sided_client_is_served(name, labels):
    group = [client(labels, name="small"), *clients()]
    s = selections(name, group, Budget())[0]
    assert len(s.kept) == len(labels)


@every_method
def test_alone_and_empty_a_client_is_served(name):
    group = [client([])]
    assert kept_ids(group, selections(name, group, Budget())) == [[]]


@every_method
def test_what_methods_send_is_bytes_that_repeat(name):
    method, one = METHODS[name], clients()[0]
    message = method.summarize(one)
    assert isinstance(message, bytes)
    assert message == method.summarize(one)
    assert (len(message) == 0) == (method.agree([message]) == b"")


@every_method
def test_a_method_looks_only_at_what_it_declares(name):
    method, group = METHODS[name], clients()
    if method.uses != "warm-up":
        group = [replace(one, warm=()) for one in group]
    if method.uses in ("labels", "scores", "visual scores"):
        group = [replace(one, embeddings=np.empty((len(one), 0), np.float32)) for one in group]
    if method.uses in ("labels", "embeddings", "warm-up"):
        void = Scores(*[np.full(1, np.nan)] * 3)
        group = [replace(one, scores=void) for one in group]
    assert kept_ids(group, selections(name, group, Budget())) == kept_ids(
        clients(), selections(name, clients(), Budget())
    )


@every_method
def test_a_warm_up_is_declared_by_those_that_train(name):
    method = METHODS[name]
    assert (method.warm_up is not None) == (method.uses == "warm-up")
