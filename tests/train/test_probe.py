import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.errors import ScopeError
from scopefl.train.learner import Examples
from scopefl.train.plan import Plan
from scopefl.train.probe import Probe, mean_error


def cross_entropy(w, b, x, y, weight):
    logits = x @ w.T + b
    loss = np.log(np.exp(logits).sum(axis=1)) - logits[np.arange(len(y)), y]
    return (loss * weight).sum() / weight.sum()


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_the_gradient_agrees_with_finite_differences(seed, weighted):
    rng = np.random.default_rng(seed)
    x, w, b = rng.normal(size=(5, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)
    y, weight = rng.integers(0, 4, 5), rng.uniform(0.5, 3, 5)
    gradient = mean_error(w, b, x, y, weight if weighted else None) @ x
    counted = weight if weighted else np.ones(5)
    for c, d in np.ndindex(w.shape):
        nudge = np.zeros_like(w)
        nudge[c, d] = 1e-6
        above = cross_entropy(w + nudge, b, x, y, counted)
        below = cross_entropy(w - nudge, b, x, y, counted)
        assert gradient[c, d] == pytest.approx((above - below) / 2e-6, abs=1e-6)


def test_one_step_on_one_example_by_hand():
    # From zero both classes have probability 1/2; the gradient is (1/2 - 1) * 2 = -1 and +1.
    data = Examples(np.float32([[2.0]]), np.array([0]))
    plan = Plan(1, batch_size=1)
    start = Probe(1, 2).start(np.random.default_rng())
    w, b = Probe(1, 2).train(start, data, plan, 0.1, np.random.default_rng())
    np.testing.assert_allclose(w, [[0.1], [-0.1]], rtol=1e-6)
    np.testing.assert_allclose(b, [0.05, -0.05], rtol=1e-6)
    assert not start[0].any()


def test_one_full_step_goes_against_the_gradient():
    rng = np.random.default_rng(2)
    weighted = Examples(rng.normal(size=(6, 3)), rng.integers(0, 3, 6), np.arange(1, 7))
    probe, plan = Probe(3, 3), Plan(1, batch_size=6)
    start = [rng.normal(size=(3, 3)).astype(np.float32), np.ones(3, np.float32)]
    for data in (weighted, Examples(weighted.x, weighted.y)):
        moved = probe.train(start, data, plan, 0.5, rng)
        gradient = probe.gradient(start, data)
        for before, after, each in zip(start, moved, gradient, strict=True):
            np.testing.assert_allclose(after, before - 0.5 * each, rtol=1e-4, atol=1e-6)


def test_momentum_and_weight_decay_by_hand():
    # Second epoch, linear in small steps: speed = 0.5 * first + gradient + decay * weight.
    data = Examples(np.float32([[1.0]]), np.array([0]))
    plan = Plan(1, local_epochs=2, momentum=0.5, weight_decay=0.1)
    start = Probe(1, 2).start(np.random.default_rng())
    w, _ = Probe(1, 2).train(start, data, plan, 0.2, np.random.default_rng())
    first = -0.5
    w1, b1 = 0.1, 0.1
    p = 1 / (1 + np.exp(-2 * (w1 + b1)))
    second = 0.5 * first + (p - 1) + 0.1 * w1
    assert w[0, 0] == pytest.approx(w1 - 0.2 * second, rel=1e-5)


def test_a_weight_of_two_is_an_example_twice():
    rng = np.random.default_rng(5)
    x, y = rng.normal(size=(4, 3)).astype(np.float32), np.array([0, 1, 2, 1])
    plan = Plan(1, local_epochs=3, batch_size=8)
    probe = Probe(3, 3)
    start = probe.start(rng)
    weighted = probe.train(start, Examples(x, y, np.float32([1, 1, 2, 1])), plan, 0.3, rng)
    twice = Examples(np.concatenate([x, x[2:3]]), np.append(y, 2))
    repeated = probe.train(start, twice, plan, 0.3, rng)
    for one, other in zip(weighted, repeated, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


def test_it_learns_what_can_be_learnt():
    rng = np.random.default_rng(1)
    y = np.arange(300) % 3
    x = (np.eye(3)[y] * 3 + rng.normal(size=(300, 3)) * 0.3).astype(np.float32)
    probe = Probe(3, 3)
    weights = probe.train(probe.start(rng), Examples(x, y), Plan(1, local_epochs=5), 0.1, rng)
    assert (probe.predict(weights, x) == y).mean() > 0.98


def test_the_logits_by_hand_and_the_features_are_the_embeddings():
    x, weights = np.float32([[2, 1]]), [np.float32([[1, 0], [0, -1]]), np.float32([0.5, 0.25])]
    logits, features = Probe(2, 2).logits_and_features(weights, x)
    assert logits.tolist() == [[2.5, -0.75]]
    assert features is x
    assert Probe(2, 2).predict(weights, x).tolist() == [0]


def test_embeddings_of_another_width_are_refused():
    probe = Probe(4, 2)
    with pytest.raises(ScopeError, match=r"x must be \(N, 4\) embeddings, got shape \(2, 3\)"):
        probe.predict(probe.start(np.random.default_rng()), np.zeros((2, 3)))


def test_its_operations_are_counted_by_hand():
    assert Probe(256, 10).forward_flops() == 5120
    assert Probe(256, 10).train_flops() == 10240
