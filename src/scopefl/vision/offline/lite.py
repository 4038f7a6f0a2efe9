"""EfficientNet-Lite0 as an ONNX graph: uint8 pixels in, square roots of pooled features out."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scopefl.vision import onnx_bytes

SIZE = 224
DIM = 1280
MEAN, STD = 127.0, 128.0

Weights = Mapping[str, NDArray[np.generic]]

_BATCH_NORM_EPS = np.float32(1e-3)


class Stage(NamedTuple):
    """A run of blocks: how many, kernel, stride of the first, expansion."""

    repeats: int
    kernel: int
    stride: int
    expansion: int


STAGES = (
    Stage(1, 3, 1, 1),
    Stage(2, 3, 2, 6),
    Stage(2, 5, 2, 6),
    Stage(3, 3, 2, 6),
    Stage(3, 5, 1, 6),
    Stage(4, 5, 2, 6),
    Stage(1, 3, 1, 6),
)


class _Graph:
    """Nodes and tensors as they are appended."""

    def __init__(self, weights: Weights) -> None:
        self.weights = weights
        self.nodes: list[bytes] = []
        self.tensors: list[bytes] = []

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        self.tensors.append(onnx_bytes.tensor(name, values))
        return name

    def apply(
        self, operator: str, inputs: list[str], output: str, **attributes: onnx_bytes.Attribute
    ) -> str:
        self.nodes.append(onnx_bytes.node(operator, inputs, output, **attributes))
        return output

    def conv(self, x: str, conv: str, norm: str, stride: int, *, clip: bool = True) -> str:
        """Append a convolution with its batch norm folded in, then ReLU6 if `clip`."""
        kernel, bias = folded(self.weights, conv, norm)
        depthwise = kernel.shape[1] == 1
        out = self.apply(
            "Conv",
            [x, self.constant(f"{conv}.w", kernel), self.constant(f"{conv}.b", bias)],
            f"{conv}.out",
            auto_pad="SAME_UPPER",
            kernel_shape=list(kernel.shape[2:]),
            strides=[stride, stride],
            group=kernel.shape[0] if depthwise else 1,
        )
        return self.apply("Clip", [out, "zero", "six"], f"{conv}.clip") if clip else out


def folded(
    weights: Weights, conv: str, norm: str
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Give kernel and bias of a convolution that includes the batch norm after it."""
    part = {
        name: np.asarray(weights[f"{norm}.{name}"], np.float32)
        for name in ("weight", "bias", "running_mean", "running_var")
    }
    gain = part["weight"] / np.sqrt(part["running_var"] + _BATCH_NORM_EPS)
    kernel = np.asarray(weights[f"{conv}.weight"], np.float32) * gain[:, None, None, None]
    return kernel, part["bias"] - part["running_mean"] * gain


def to_onnx(weights: Weights) -> bytes:
    """Give the model: `pixels` (n, 224, 224, 3) uint8 -> `embedding` (n, 1280) float32."""
    graph = _Graph(weights)
    for name, value in (("zero", 0.0), ("six", 6.0), ("mean", MEAN), ("std", STD)):
        graph.constant(name, np.array(value, np.float32))
    x = graph.apply("Cast", ["pixels"], "float", to=1)
    x = graph.apply("Transpose", [x], "planes", perm=[0, 3, 1, 2])
    x = graph.apply("Sub", [x, "mean"], "centred")
    x = graph.apply("Div", [x, "std"], "normalised")
    x = graph.conv(x, "_conv_stem", "_bn0", 2)
    index = 0
    for stage in STAGES:
        for repeat in range(stage.repeats):
            x = _block(graph, x, f"_blocks.{index}.", stage, first=repeat == 0)
            index += 1
    x = graph.conv(x, "_conv_head", "_bn1", 1)
    x = graph.apply("GlobalAveragePool", [x], "pooled")
    x = graph.apply("Flatten", [x], "features", axis=1)
    graph.apply("Sqrt", [x], "embedding")
    return onnx_bytes.model(
        "efficientnet-lite0",
        graph.nodes,
        graph.tensors,
        [onnx_bytes.port("pixels", "uint8", ["n", SIZE, SIZE, 3])],
        [onnx_bytes.port("embedding", "float32", ["n", DIM])],
    )


def _block(graph: _Graph, x: str, prefix: str, stage: Stage, *, first: bool) -> str:
    y = x
    if stage.expansion > 1:
        y = graph.conv(y, f"{prefix}_expand_conv", f"{prefix}_bn0", 1)
    y = graph.conv(y, f"{prefix}_depthwise_conv", f"{prefix}_bn1", stage.stride if first else 1)
    y = graph.conv(y, f"{prefix}_project_conv", f"{prefix}_bn2", 1, clip=False)
    return y if first else graph.apply("Add", [y, x], f"{prefix}sum")
