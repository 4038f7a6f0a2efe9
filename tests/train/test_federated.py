import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl.errors import ScopeError
from scopefl.train.federated import average, clients_of, federate, run, train_client
from scopefl.train.learner import Examples
from scopefl.train.plan import Plan
from scopefl.train.probe import Probe

PROBE = Probe(4, 3)


def examples(n, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = np.eye(3, 4)[y] + rng.normal(size=(n, 4)) * 0.5
    return Examples(x.astype(np.float32), y)


CLIENTS = [examples(n, seed) for seed, n in enumerate((20, 1, 0, 33))]
TEST = examples(50, 9)


def same(one, other):
    assert [r.correct for r in one.rounds] == [r.correct for r in other.rounds]
    np.testing.assert_array_equal(one.predictions, other.predictions)
    for mine, yours in zip(one.weights, other.weights, strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_two_clients_by_hand():
    # Each client takes one step from zero: w = lr * x / 2 for its own class, and minus that.
    one = Examples(np.float32([[2.0]] * 3), np.zeros(3, np.int64))
    other = Examples(np.float32([[4.0]]), np.ones(1, np.int64))
    history = run(Probe(1, 2), [one, other], one, Plan(1, lr=0.1, batch_size=3))
    expected = 0.75 * 0.1 - 0.25 * 0.2
    np.testing.assert_allclose(history.weights[0], [[expected], [-expected]], rtol=1e-6)
    assert history.rounds[0].correct == (3, 0)
    assert history.rounds[0].samples == 4
    assert history.accuracy.tolist() == [1.0]


@given(st.permutations(range(3)))
def test_the_order_in_which_clients_train_does_not_matter(order):
    plan = Plan(3, batch_size=8, seed=5)

    def in_this_order(weights, number, chosen):
        places = [chosen[place] for place in order]
        done = {c: train_client(PROBE, weights, CLIENTS[c], plan, number, c) for c in places}
        return [done[client] for client in chosen]

    *_, last = federate(PROBE, [len(c) for c in CLIENTS], TEST, plan, in_this_order)
    straight = run(PROBE, CLIENTS, TEST, plan)
    for mine, yours in zip(last.weights, straight.weights, strict=True):
        np.testing.assert_array_equal(mine, yours)


@settings(max_examples=20)
@given(st.integers(1, 11), st.integers(1, 4))
def test_a_run_killed_at_any_round_continues_to_the_same_result(tmp_path_factory, stop, every):
    path = tmp_path_factory.mktemp("runs") / "run.npz"
    plan = Plan(12, batch_size=8, fraction=0.7, seed=3)

    def power_cut(record, weights):
        if record.number == stop:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(PROBE, CLIENTS, TEST, plan, on_round=power_cut, checkpoint=path, save_every=every)
    done = []
    resumed = run(
        PROBE,
        CLIENTS,
        TEST,
        plan,
        on_round=lambda record, weights: done.append(record.number),
        checkpoint=path,
    )
    assert done == list(range(stop // every * every + 1, 13))
    same(resumed, run(PROBE, CLIENTS, TEST, plan))
    same(run(PROBE, CLIENTS, TEST, plan, checkpoint=path), resumed)


def test_another_seed_gives_another_result():
    one, other = (run(PROBE, CLIENTS, TEST, Plan(2, batch_size=4, seed=seed)) for seed in (0, 1))
    assert (one.weights[0] != other.weights[0]).any()


def test_a_fraction_of_the_clients_takes_turns_and_the_empty_one_never_does():
    sizes = [5, 0, 7, 9, 3]
    plan = Plan(50, fraction=0.5)
    rounds = [clients_of(sizes, plan, number) for number in range(1, 51)]
    assert {len(chosen) for chosen in rounds} == {2}
    assert set().union(*rounds) == {0, 2, 3, 4}
    assert all(list(chosen) == sorted(chosen) for chosen in rounds)
    assert clients_of([4, 4], Plan(1, fraction=0.01), 1) in ((0,), (1,))


def test_training_without_any_data_is_refused():
    with pytest.raises(ScopeError, match="all 2 clients are empty"):
        run(PROBE, [CLIENTS[2], CLIENTS[2]], TEST, Plan(1))


def test_labels_outside_the_classes_and_an_empty_test_set_are_refused():
    odd = Examples(np.zeros((1, 4), np.float32), np.array([3]))
    with pytest.raises(ScopeError, match=r"labels must be in 0\.\.2, got 3"):
        run(PROBE, [CLIENTS[0], odd], TEST, Plan(1))
    with pytest.raises(ScopeError, match="at least one example"):
        run(PROBE, CLIENTS, TEST[:0], Plan(1))


def test_a_loss_that_becomes_nan_names_the_round_and_the_client():
    bad = Examples(np.full((4, 4), np.nan, np.float32), np.zeros(4, np.int64))
    with pytest.raises(ScopeError, match="NaN in round 1 at client 1"):
        run(PROBE, [CLIENTS[0], bad], TEST, Plan(3))


def test_a_learning_rate_that_diverges_is_found():
    with pytest.raises(ScopeError, match="lower lr"):
        run(PROBE, CLIENTS, TEST, Plan(50, lr=1e38, momentum=0.99, batch_size=1))


def test_the_last_ten_rounds_are_evaluated_whatever_is_asked():
    history = run(PROBE, CLIENTS, TEST, Plan(25), evaluate_every=6)
    assert [each.number for each in history.evaluated] == [6, 12, *range(16, 26)]
    assert history.evaluated[0].changed is None
    assert history.evaluated[-1].changed == pytest.approx(0, abs=0.1)
    assert len(history.accuracy) == 12


def test_the_history_adds_up():
    history = run(PROBE, CLIENTS, TEST, Plan(2, local_epochs=3))
    assert history.samples == 2 * 3 * 54
    assert history.seconds > 0
    assert history.test_count.tolist() == np.bincount(TEST.y).tolist()
    assert history.accuracy[-1] == (history.predictions == TEST.y).mean()


@given(st.lists(st.integers(1, 1000), min_size=1, max_size=6), st.floats(-1e3, 1e3, width=32))
def test_the_average_of_equal_parts_is_each_part(sizes, value):
    parts = [[np.full(2, value, np.float32)] for _ in sizes]
    np.testing.assert_allclose(average(parts, sizes)[0], value, rtol=1e-6)


def test_examples_of_different_lengths_are_refused():
    with pytest.raises(ScopeError, match=r"equally long, got lengths \[2, 3\]"):
        Examples(np.zeros((3, 1)), np.zeros(2, np.int64))


def test_examples_are_taken_with_their_weights():
    taken = Examples(np.arange(3), np.arange(3), np.float32([1, 2, 3]))[[2, 0]]
    assert (taken.x.tolist(), taken.y.tolist(), taken.weight.tolist()) == ([2, 0], [2, 0], [3, 1])
    assert CLIENTS[0][:2].weight is None
