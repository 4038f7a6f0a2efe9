"""A kit small enough for a test: a real ONNX tower of one convolution, real canaries."""

from dataclasses import replace

import numpy as np
from PIL import Image

from scopefl.vision import onnx_bytes
from scopefl.vision.kit import Draft, make_kit
from scopefl.vision.manifest import Origin
from scopefl.vision.preprocess import Preprocessing

SIZE, DIM = 32, 24
CLASSES = ("cat", "dog", "eel")
RULE = Preprocessing(SIZE, "shortest", "bicubic", (0.5, 0.4, 0.3), (0.2, 0.3, 0.4))
ORIGIN = Origin("tiny", "a test", "1", "Apache-2.0", "0" * 64, "0" * 64)


def tower(seed=0, mean=RULE.mean, std=RULE.std, size=SIZE, half=False):
    rng = np.random.default_rng(seed)
    kernel = rng.standard_normal((DIM, 3, 5, 5)).astype(np.float32)
    if half:
        kernel = kernel.astype(np.float16).astype(np.float32)
    planes = [np.array(values, np.float32).reshape(3, 1, 1) * 255 for values in (mean, std)]
    nodes = [
        onnx_bytes.node("Cast", ["pixels"], "float", to=1),
        onnx_bytes.node("Transpose", ["float"], "planes", perm=[0, 3, 1, 2]),
        onnx_bytes.node("Sub", ["planes", "mean"], "centred"),
        onnx_bytes.node("Div", ["centred", "std"], "normal"),
        onnx_bytes.node("Conv", ["normal", "kernel"], "conv", kernel_shape=[5, 5]),
        onnx_bytes.node("Relu", ["conv"], "relu"),
        onnx_bytes.node("GlobalAveragePool", ["relu"], "pooled"),
        onnx_bytes.node("Flatten", ["pooled"], "embedding", axis=1),
    ]
    weights = [
        onnx_bytes.tensor("mean", planes[0]),
        onnx_bytes.tensor("std", planes[1]),
        onnx_bytes.tensor("kernel", kernel),
    ]
    ports = (
        [onnx_bytes.port("pixels", "uint8", ["n", size, size, 3])],
        [onnx_bytes.port("embedding", "float32", ["n", DIM])],
    )
    return onnx_bytes.model("tiny", nodes, weights, *ports)


def prototypes(classes=CLASSES, seed=1):
    rows = np.random.default_rng(seed).standard_normal((len(classes), DIM))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


DRAFT = Draft(ORIGIN, CLASSES, RULE, tower(), prototypes())


def kit(**changes):
    return make_kit(replace(DRAFT, **changes))


def folder(root, per_class=4, side=24, seed=0):
    """Write a folder of class folders, every picture its own, and return it."""
    rng = np.random.default_rng(seed)
    for name in CLASSES:
        (root / name).mkdir(parents=True)
        for number in range(per_class):
            pixels = rng.integers(0, 256, (side, side, 3), np.uint8)
            Image.fromarray(pixels).save(root / name / f"{number:04}.png", compress_level=1)
    return root
