import numpy as np
import pytest

from scopefl.vision import runtimes
from scopefl.vision.offline import lite
from scopefl.vision.offline.bridge import IMAGE_WEIGHTS
from scopefl.vision.offline.torchfile import read_torch_file

torch = pytest.importorskip("torch")
WEIGHTS = read_torch_file(IMAGE_WEIGHTS.read())


def reference(pixels):
    """Compute the tower in torch, layer by layer, without folding a batch norm."""
    functional = torch.nn.functional
    weights = {name: torch.from_numpy(np.array(values)) for name, values in WEIGHTS.items()}

    def conv(x, name, norm, stride, clip=True):
        kernel = weights[f"{name}.weight"]
        size, side = kernel.shape[-1], x.shape[-1]
        pad = max((-(-side // stride) - 1) * stride + size - side, 0)
        x = functional.pad(x, (pad // 2, pad - pad // 2) * 2)
        x = functional.conv2d(
            x, kernel, stride=stride, groups=x.shape[1] if kernel.shape[1] == 1 else 1
        )
        parts = ("running_mean", "running_var", "weight", "bias")
        x = functional.batch_norm(x, *(weights[f"{norm}.{part}"] for part in parts), eps=1e-3)
        return functional.relu6(x) if clip else x

    x = (torch.from_numpy(pixels).permute(0, 3, 1, 2).float() - 127) / 128
    x, index = conv(x, "_conv_stem", "_bn0", 2), 0
    for repeats, _, stride, expansion in lite.STAGES:
        for repeat in range(repeats):
            block, y = f"_blocks.{index}.", x
            if expansion > 1:
                y = conv(y, f"{block}_expand_conv", f"{block}_bn0", 1)
            y = conv(y, f"{block}_depthwise_conv", f"{block}_bn1", 1 if repeat else stride)
            y = conv(y, f"{block}_project_conv", f"{block}_bn2", 1, clip=False)
            x, index = (x + y if repeat else y), index + 1
    return conv(x, "_conv_head", "_bn1", 1).mean((2, 3)).sqrt().numpy()


def test_the_graph_computes_what_the_layers_say():
    pixels = np.random.default_rng(0).integers(0, 256, (2, 224, 224, 3), np.uint8)
    found = runtimes.onnxruntime_tower(lite.to_onnx(WEIGHTS), 1)(pixels)
    np.testing.assert_allclose(found, reference(pixels), atol=1e-4)


def test_the_same_weights_give_the_same_bytes():
    assert lite.to_onnx(WEIGHTS) == lite.to_onnx(WEIGHTS)
