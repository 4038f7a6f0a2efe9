import numpy as np
import pytest
import torch

from scopefl.errors import ScopeError
from scopefl.train.federated import run
from scopefl.train.learner import Examples, losses
from scopefl.train.plan import Plan
from scopefl.train.torch_learner import TorchLearner, usable_device

pytestmark = pytest.mark.slow  # torch and open_clip take seconds to import and build

CNN = TorchLearner("cnn", 3, image_size=16)


def rng(seed=0):
    return np.random.default_rng(seed)


def bright(n, seed=0):
    """Images whose class is the colour channel that is brightest."""
    y = rng(seed).integers(0, 3, n)
    x = rng(seed).integers(0, 100, (n, 16, 16, 3))
    x[np.arange(n), :, :, y] += 100
    return Examples(x.astype(np.uint8), y)


def test_it_learns_to_tell_colours_and_gives_the_same_bits_again():
    plan = Plan(2, batch_size=16, lr=0.05, momentum=0.9)
    clients, test = [bright(48), bright(1, 1), bright(32, 2)], bright(60, 3)
    one, again = (run(TorchLearner("cnn", 3, 16), clients, test, plan) for _ in range(2))
    assert one.accuracy[-1] > 0.9
    for mine, yours in zip(one.weights, again.weights, strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_training_leaves_the_given_weights_and_the_settings_of_torch_alone():
    threads, state = torch.get_num_threads(), torch.get_rng_state()
    weights = CNN.start(rng())
    before = [array.copy() for array in weights]
    CNN.train(weights, bright(8), Plan(1), 0.1, rng())
    for array, was in zip(weights, before, strict=True):
        np.testing.assert_array_equal(array, was)
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.are_deterministic_algorithms_enabled()


def test_dropout_does_not_depend_on_what_was_asked_before():
    plan, data = Plan(1, batch_size=4), bright(8)
    learner = TorchLearner("efficientnet_v2_s", 3, image_size=32)
    weights = learner.start(rng())
    first, second = (learner.train(weights, data, plan, 0.01, rng(1)) for _ in range(2))
    for mine, yours in zip(first, second, strict=True):
        np.testing.assert_array_equal(mine, yours)


def test_one_example_trains_a_network_with_batch_norm():
    learner = TorchLearner("resnet18", 3, image_size=16)
    weights = learner.train(learner.start(rng()), bright(1), Plan(1), 0.01, rng())
    assert all(np.isfinite(array).all() for array in weights)


def test_running_statistics_of_batch_norm_travel_with_the_weights():
    learner = TorchLearner("resnet18", 3, image_size=16)
    start = learner.start(rng())
    trained = learner.train(start, bright(8), Plan(1), 0.01, rng())
    net = learner._loaded(trained)
    assert not torch.equal(net.bn1.running_mean, torch.zeros(64))
    learner._loaded(start)
    assert torch.equal(net.bn1.running_mean, torch.zeros(64))


def test_the_logits_are_the_last_layer_of_the_features():
    weights, data = CNN.start(rng()), bright(5)
    logits, features = CNN.logits_and_features(weights, data.x)
    np.testing.assert_allclose(features @ weights[-2].T + weights[-1], logits, atol=1e-5)
    np.testing.assert_array_equal(CNN.predict(weights, data.x), logits.argmax(axis=1))
    assert CNN.logits_and_features(weights, data.x[:0]).logits.shape == (0, 3)


def test_the_gradient_agrees_with_finite_differences_whatever_the_chunks(monkeypatch):
    data = Examples(bright(7).x, bright(7).y, np.float32([1, 2, 1, 1, 3, 1, 1]))
    weights = CNN.start(rng(3))
    gradient = CNN.gradient(weights, data)

    def loss_at(step):
        moved = [w + np.float32(step) * g for w, g in zip(weights, gradient, strict=True)]
        each = losses(CNN.logits_and_features(moved, data.x).logits, data.y)
        return (each * data.weight).sum() / data.weight.sum()

    squared = sum(float((g.astype(float) ** 2).sum()) for g in gradient)
    assert (loss_at(1e-3) - loss_at(-1e-3)) / 2e-3 == pytest.approx(squared, rel=0.02)
    monkeypatch.setattr("scopefl.train.torch_learner.EVALUATION_BATCH", 3)
    for mine, chunked in zip(gradient, CNN.gradient(weights, data), strict=True):
        np.testing.assert_allclose(mine, chunked, atol=1e-5)


def test_a_weight_of_two_is_an_example_twice():
    x, y = bright(3).x, bright(3).y
    weights = CNN.start(rng())
    weighted = CNN.gradient(weights, Examples(x, y, np.array([1, 1, 2])))
    twice = CNN.gradient(weights, Examples(x[[0, 1, 2, 2]], y[[0, 1, 2, 2]]))
    for mine, yours in zip(weighted, twice, strict=True):
        np.testing.assert_allclose(mine, yours, atol=1e-6)


def test_grey_images_and_images_of_another_size_fit():
    grey = TorchLearner("cnn", 3, image_size=16, channels=1)
    logits = grey.logits_and_features(grey.start(rng()), np.zeros((2, 28, 28), np.uint8)).logits
    assert logits.shape == (2, 3)


@pytest.mark.parametrize(
    "x",
    [
        np.zeros((2, 16, 16, 3), np.float32),
        np.zeros((2, 16, 16, 1), np.uint8),
        np.zeros((2, 16), np.uint8),
    ],
)
def test_what_is_not_an_image_of_this_model_is_refused(x):
    with pytest.raises(ScopeError, match=r"images must be uint8 \(N, H, W, 3\)"):
        CNN.predict(CNN.start(rng()), x)


def test_weights_of_another_model_are_refused():
    with pytest.raises(ScopeError, match="weights must be the 11 arrays of cnn, got 2"):
        CNN.predict(CNN.start(rng())[:2], np.zeros((1, 16, 16, 3), np.uint8))


def test_its_operations_are_counted_by_hand():
    # 3x3 convolutions 3-32-64-64 on 32, 16 and 8 pixels, and the head; a multiply-add is two.
    by_hand = 2 * (27 * 32 * 32**2 + 288 * 64 * 16**2 + 576 * 64 * 8**2 + 64 * 10)
    learner = TorchLearner("cnn", 10, image_size=32)
    assert learner.forward_flops() == by_hand
    assert learner.train_flops() == 3 * by_hand


@pytest.mark.slow
def test_attention_is_counted_too():
    # 12 blocks of width 192 on 17 tokens, the 16x16 patches of a 64-pixel image, and the head.
    tokens, width = 17, 192
    block = 12 * width**2 * tokens + 2 * tokens**2 * width
    by_hand = 2 * (12 * block + 16 * 768 * width + width * 10)
    assert TorchLearner("vit_tiny", 10, image_size=64).forward_flops() == by_hand


def test_a_device_that_is_not_there_is_one_sentence():
    assert usable_device("cpu") == "cpu"
    assert usable_device("auto") == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(ScopeError, match="device must be auto or one torch can use here, got 'gp'"):
        usable_device("gp")
