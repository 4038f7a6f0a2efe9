"""How much an image tower computes for one image, read off one run of it."""

import json
import math
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

PRODUCTS = {"Conv", "ConvTranspose", "Gemm", "MatMul"}
"""Operators that are counted, as torch's counter does; the others are a small part."""


def image_flops(model: bytes) -> int:
    """Count the floating-point operations of one image, a multiply-add as two."""
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:
        options = ort.SessionOptions()
        # Operators that are fused have no shapes of their own.
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        # Weights that are packed beforehand are left out of an operator's inputs.
        options.add_session_config_entry("session.disable_prepacking", "1")
        options.enable_profiling = True
        options.profile_file_prefix = str(Path(folder) / "run")
        options.log_severity_level = 3
        session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        (pixels,) = session.get_inputs()
        shape = [side if isinstance(side, int) else 1 for side in pixels.shape]
        session.run(None, {pixels.name: np.zeros(shape, np.uint8)})
        events = json.loads(Path(session.end_profiling()).read_bytes())
    flops = sum(_flops(event["args"]) for event in events if _is_product(event))
    return flops // shape[0]


def _is_product(event: Mapping[str, Any]) -> bool:
    about = event.get("args", {})
    return about.get("op_name") in PRODUCTS and "output_type_shape" in about


def _flops(about: Mapping[str, Any]) -> int:
    """Give two operations for each output and each of the inputs summed up in it."""
    first, second, *_ = map(_shape, about["input_type_shape"])
    (out,) = map(_shape, about["output_type_shape"])
    if about["op_name"] == "Conv":
        return 2 * math.prod(out) * math.prod(second[1:])
    if about["op_name"] == "ConvTranspose":
        return 2 * math.prod(first) * math.prod(second[1:])
    # A Gemm may read its first matrix turned round.
    summed = first[-1] if about["op_name"] == "MatMul" else math.prod(first) // out[0]
    return 2 * math.prod(out) * summed


def _shape(typed: Mapping[str, Sequence[int]]) -> Sequence[int]:
    (shape,) = typed.values()
    return shape
