import numpy as np
import pytest

from scopefl.vision import onnx_bytes
from scopefl.vision.flops import image_flops
from scopefl.vision.kit import Kit
from tests.vision.small import DIM, SIZE, tower


def test_a_convolution_by_hand():
    # 5 x 5 x 3 products for each of DIM channels at each place the kernel fits.
    assert image_flops(tower()) == 2 * (SIZE - 4) ** 2 * DIM * 5 * 5 * 3


def test_a_matrix_product_by_hand():
    nodes = [
        onnx_bytes.node("Cast", ["pixels"], "float", to=1),
        onnx_bytes.node("Flatten", ["float"], "flat", axis=1),
        onnx_bytes.node("Gemm", ["flat", "a"], "middle", transB=1),
        onnx_bytes.node("MatMul", ["middle", "b"], "embedding"),
    ]
    weights = [
        onnx_bytes.tensor("a", np.ones((7, 48), np.float32)),
        onnx_bytes.tensor("b", np.ones((7, 5), np.float32)),
    ]
    ports = (
        [onnx_bytes.port("pixels", "uint8", ["n", 4, 4, 3])],
        [onnx_bytes.port("embedding", "float32", ["n", 5])],
    )
    model = onnx_bytes.model("products", nodes, weights, *ports)
    assert image_flops(model) == 2 * (48 * 7 + 7 * 5)


@pytest.mark.slow
def test_the_built_in_tower_counts_as_torch_counts_its_network():
    torch = pytest.importorskip("torch")
    from torch.utils.flop_counter import FlopCounterMode

    from scopefl.torchvision_import import import_over_torchvision

    net = import_over_torchvision("timm").create_model("tf_efficientnet_lite0", num_classes=0)
    counter = FlopCounterMode(display=False)
    with counter, torch.no_grad():
        net.eval()(torch.zeros(1, 3, 224, 224))
    assert image_flops(Kit.load("offline", ("cat", "dog")).model) == counter.get_total_flops()
