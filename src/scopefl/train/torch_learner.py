"""Networks as learners: SGD in torch, the same numbers for the same seed and number of threads."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from scopefl.errors import ScopeError
from scopefl.train.learner import Examples, Outputs, Weights
from scopefl.train.models import build
from scopefl.train.plan import Plan

EVALUATION_BATCH = 256


def usable_device(name: str) -> str:
    """Give the device of that name; `auto` is the first GPU, or the processor without one."""
    if name == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(1, device=name)
    except (RuntimeError, AssertionError) as error:
        # Torch goes on for lines; the first says what is wrong.
        raise ScopeError(
            f"device must be auto or one torch can use here, got {name!r}: "
            f"{str(error).splitlines()[0]}"
        ) from error
    return name


@dataclass(frozen=True)
class TorchLearner:
    """A network by name on uint8 images (N, H, W, channels), or (N, H, W) for one channel.

    Images are scaled to 0..1, standardised by `mean` and `std`, and resized to `image_size`.
    """

    model: str
    n_classes: int
    image_size: int = 32
    channels: int = 3
    pretrained: Path | None = None
    mean: float = 0.5
    std: float = 0.25
    threads: int = 1
    device: str = "cpu"

    def start(self, rng: np.random.Generator) -> Weights:
        """Give fresh weights, or the pretrained ones with a fresh head."""
        with self._settled(rng):
            return _weights_of(self._build(self.pretrained))

    def train(
        self, weights: Weights, data: Examples, plan: Plan, lr: float, rng: np.random.Generator
    ) -> Weights:
        """Give the weights after the plan's local epochs of mini-batch SGD with momentum."""
        with self._settled(rng):
            net = self._loaded(weights)
            optimiser = torch.optim.SGD(
                net.parameters(), lr, momentum=plan.momentum, weight_decay=plan.weight_decay
            )
            for _ in range(plan.local_epochs):
                order = rng.permutation(len(data))
                for at in range(0, len(data), plan.batch_size):
                    batch = data[order[at : at + plan.batch_size]]
                    # A batch of one has no spread for batch norm to learn from.
                    net.train(len(batch) > 1)
                    optimiser.zero_grad()
                    torch.autograd.backward(self._mean_loss(net, batch))
                    optimiser.step()
            return _weights_of(net)

    def predict(self, weights: Weights, x: NDArray[Any]) -> NDArray[np.int64]:
        """Give the most likely class of each image (N,)."""
        return np.asarray(self.logits_and_features(weights, x).logits.argmax(axis=1), np.int64)

    def logits_and_features(self, weights: Weights, x: NDArray[Any]) -> Outputs:
        """Give logits (N, C) and what the last layer reads (N, F), in evaluation mode."""
        with self._settled(), torch.no_grad():
            net = self._loaded(weights).eval()
            parts = [
                self._outputs(net, x[at : at + EVALUATION_BATCH])
                for at in range(0, max(len(x), 1), EVALUATION_BATCH)
            ]
        return Outputs(*(np.concatenate(each) for each in zip(*parts, strict=True)))

    def gradient(self, weights: Weights, data: Examples) -> Weights:
        """Give the gradient of the mean loss in the parameters, in evaluation mode."""
        whole = len(data) if data.weight is None else float(data.weight.sum())
        with self._settled():
            net = self._loaded(weights).eval()
            net.zero_grad()
            for at in range(0, len(data), EVALUATION_BATCH):
                batch = data[at : at + EVALUATION_BATCH]
                part = len(batch) if batch.weight is None else float(batch.weight.sum())
                torch.autograd.backward(self._mean_loss(net, batch) * (part / whole))
            return [_array(each.grad) for each in net.parameters() if each.grad is not None]

    def forward_flops(self) -> int:
        """Count the forward pass of one image by torch's counter."""
        x = np.zeros((1, self.image_size, self.image_size, self.channels), np.uint8)
        counter = FlopCounterMode(display=False)
        # The counter sees attention only when it is spelled out as matrix products.
        with self._settled(), counter, sdpa_kernel(SDPBackend.MATH), torch.no_grad():
            self._net.eval()(self._images(x))
        return int(counter.get_total_flops())

    def train_flops(self) -> int:
        """Count three times the forward pass: each product has two of its size in its gradient."""
        # The counter itself takes the gradient of a depthwise convolution for that of a dense one.
        return 3 * self.forward_flops()

    @cached_property
    def _net(self) -> nn.Module:
        # Its first weights are never used, and must not move the random stream of whoever asks.
        with torch.random.fork_rng():
            return self._build(None)

    def _build(self, pretrained: Path | None) -> nn.Module:
        net = build(self.model, self.n_classes, self.image_size, self.channels, pretrained)
        return net.to(self.device)

    def _loaded(self, weights: Weights) -> nn.Module:
        tensors = _floats(self._net)
        if len(tensors) != len(weights):
            raise ScopeError(
                f"weights must be the {len(tensors)} arrays of {self.model}, got {len(weights)}"
            )
        with torch.no_grad():
            for tensor, array in zip(tensors, weights, strict=True):
                tensor.copy_(torch.from_numpy(array))
        return self._net

    def _images(self, x: NDArray[Any]) -> torch.Tensor:
        if x.dtype != np.uint8 or x.ndim not in (3, 4) or x[..., None].shape[3] != self.channels:
            raise ScopeError(
                f"images must be uint8 (N, H, W, {self.channels}), got {x.dtype} {x.shape}"
            )
        images = torch.from_numpy(np.ascontiguousarray(x)).to(self.device)
        images = images[:, None] if x.ndim == 3 else images.permute(0, 3, 1, 2)
        images = (images.float() / 255 - self.mean) / self.std
        if images.shape[2:] != (self.image_size, self.image_size):
            size = (self.image_size, self.image_size)
            images = functional.interpolate(images, size, mode="bilinear", antialias=True)
        return images

    def _mean_loss(self, net: nn.Module, batch: Examples) -> torch.Tensor:
        y = torch.from_numpy(np.asarray(batch.y, np.int64)).to(self.device)
        loss = functional.cross_entropy(net(self._images(batch.x)), y, reduction="none")
        if batch.weight is None:
            return loss.mean()
        weight = torch.from_numpy(np.asarray(batch.weight, np.float32)).to(self.device)
        return (loss * weight).sum() / weight.sum()

    def _outputs(self, net: Any, x: NDArray[Any]) -> Outputs:
        features = net.forward_head(net.forward_features(self._images(x)), pre_logits=True)
        return Outputs(_array(net.get_classifier()(features)), _array(features))

    @contextmanager
    def _settled(self, rng: np.random.Generator | None = None) -> Iterator[None]:
        """Fix what torch keeps globally and numbers depend on, and put it back afterwards."""
        threads, strict = torch.get_num_threads(), torch.are_deterministic_algorithms_enabled()
        with torch.random.fork_rng():
            torch.manual_seed(0 if rng is None else int(rng.integers(1 << 63)))
            torch.set_num_threads(self.threads)
            torch.use_deterministic_algorithms(True, warn_only=True)
            try:
                yield
            finally:
                torch.set_num_threads(threads)
                torch.use_deterministic_algorithms(strict)


def _floats(net: nn.Module) -> list[torch.Tensor]:
    # Batch counters are whole numbers that nothing reads when momentum is set.
    return [tensor for tensor in net.state_dict().values() if tensor.is_floating_point()]


def _weights_of(net: nn.Module) -> Weights:
    return [_array(tensor) for tensor in _floats(net)]


def _array(tensor: torch.Tensor) -> NDArray[np.float32]:
    array: NDArray[np.float32] = tensor.detach().cpu().numpy().astype(np.float32, copy=True)
    return array
