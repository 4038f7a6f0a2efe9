"""A tower in 8-bit integers, calibrated on the canaries: the same at every site, without images."""

import contextlib
import hashlib
import logging
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scopefl.errors import ScopeError
from scopefl.vision import canaries
from scopefl.vision.cache_folder import kept
from scopefl.vision.preprocess import Preprocessing


def int8_model(model: bytes, port: str) -> bytes:
    """Give a tower with weights and activations in 8 bits, from the cache or quantised now.

    `port` is the name of its input. What ONNX Runtime cannot quantise stays float32.
    """
    name = f"{hashlib.sha256(model).hexdigest()[:32]}-{version('onnxruntime')}"
    return kept(f"int8/{name}", lambda: quantised(model, port))


def quantised(model: bytes, port: str) -> bytes:
    """Quantise a tower: weights by channel, activations by the range that the canaries span."""
    import onnx
    from onnxruntime.quantization import QuantFormat, QuantType, quantize_static

    with TemporaryDirectory() as folder, _quiet():
        try:
            whole = onnx.load_from_string(model)
            size = whole.graph.input[0].type.tensor_type.shape.dim[1].dim_value
            quantize_static(
                whole,
                Path(folder) / "int8.onnx",
                _Canaries(port, size),
                quant_format=QuantFormat.QDQ,
                per_channel=True,
                weight_type=QuantType.QInt8,
                activation_type=QuantType.QUInt8,
            )
        except Exception as refused:
            raise ScopeError(
                f"this kit's tower cannot be made int8 ({refused}); choose another runtime"
            ) from refused
        return (Path(folder) / "int8.onnx").read_bytes()


class _Canaries:
    """The canaries one by one, squeezed to the tower's size, as ONNX Runtime asks for them."""

    def __init__(self, port: str, size: int) -> None:
        rule = Preprocessing(size, "squash", "bicubic", (0, 0, 0), (1, 1, 1))
        self._port = port
        self._images = (rule.prepare(image)[None] for image in canaries.images())

    def get_next(self) -> dict[str, Any] | None:
        image = next(self._images, None)
        return None if image is None else {self._port: image}


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Hold back what the quantiser logs: advice about training pipelines that are not here."""
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)
