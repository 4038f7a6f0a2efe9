"""What runs an image tower: ONNX Runtime (always there), OpenVINO and CUDA when installed."""

import importlib.util
import os
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.data.unreadable import plain
from scopefl.errors import ScopeError
from scopefl.vision.encoder import Tower

INPUT, OUTPUT = "pixels", "embedding"
TOLERANCE = {"f32": 1e-5, "bf16": 6e-2, "int8": 0.2}
"""How far canary scores may lie from the kit's, by the precision of the arithmetic."""


AT_ONCE = {"onnxruntime-cuda": 32}
"""Images that a run takes where one would leave most of the card idle; always as many."""


def usable_cores() -> int:
    """Give how many processor cores this process may use."""
    return len(os.sched_getaffinity(0))


def onnxruntime_tower(model: bytes, threads: int) -> Tower:
    """Run the tower by ONNX Runtime on the processor, float32."""
    return _onnxruntime(model, threads, "CPUExecutionProvider")


def cuda_tower(model: bytes, threads: int) -> Tower:
    """Run the tower by ONNX Runtime on the graphics card, float32 (TF32 off)."""
    return _onnxruntime(model, threads, ("CUDAExecutionProvider", {"use_tf32": 0}))


def _onnxruntime(model: bytes, threads: int, provider: str | tuple[str, Any]) -> Tower:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    # Threads that wait by spinning take the cores from those that decode the next images.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    session = ort.InferenceSession(model, options, providers=[provider])

    def run(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        found: NDArray[np.float32] = session.run([OUTPUT], {INPUT: pixels})[0]
        return found

    return run


def openvino_tower(model: bytes, threads: int) -> Tower:
    """Run the tower by OpenVINO, float32."""
    return _openvino(model, threads, "f32")


def openvino_bf16_tower(model: bytes, threads: int) -> Tower:
    """Run the tower by OpenVINO in bfloat16: faster on recent processors, scores move a little."""
    return _openvino(model, threads, "bf16")


def openvino_int8_tower(model: bytes, threads: int) -> Tower:
    """Run the tower by OpenVINO in 8-bit integers: scores move more than in bfloat16."""
    from scopefl.vision.int8 import int8_model

    return _openvino(int8_model(model, INPUT), threads, "f32")


def _openvino(model: bytes, threads: int, precision: str) -> Tower:
    import openvino

    core = openvino.Core()
    graph = core.read_model(model)
    shape = graph.input(INPUT).get_partial_shape()
    shape[0] = 1
    graph.reshape({INPUT: shape})
    compiled = core.compile_model(
        graph,
        "CPU",
        {
            "INFERENCE_PRECISION_HINT": precision,
            "INFERENCE_NUM_THREADS": threads,
            "NUM_STREAMS": 1,
        },
    )
    request = compiled.create_infer_request()

    def run(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        return np.array(request.infer({INPUT: pixels})[OUTPUT], np.float32)

    return run


RUNTIMES: dict[str, Callable[[bytes, int], Tower]] = {
    "onnxruntime": onnxruntime_tower,
    "onnxruntime-cuda": cuda_tower,
    "openvino": openvino_tower,
    "openvino-bf16": openvino_bf16_tower,
    "openvino-int8": openvino_int8_tower,
}


def started_when_needed(runtime: str, model: bytes, threads: int) -> Tower:
    """Give a tower that starts with its first image: a run over known images needs none."""
    start = cache(lambda: RUNTIMES[runtime](model, threads))

    def run(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        try:
            return start()(pixels)
        except ScopeError:
            raise
        except Exception as broken:
            # A kit comes from elsewhere, and runtimes raise whatever they like.
            raise ScopeError(f"{runtime} cannot run this kit's tower: {plain(broken)}") from broken

    return run


def precision(runtime: str) -> str:
    """Give the arithmetic of a runtime.

    >>> precision("openvino-bf16"), precision("onnxruntime")
    ('bf16', 'f32')
    """
    last = runtime.rpartition("-")[2]
    return last if last in TOLERANCE else "f32"


def computing(arithmetic: str) -> str:
    """Name the runtime to ask for where embeddings were made in an arithmetic.

    >>> computing("bf16"), computing("f32")
    ('openvino-bf16', 'auto')
    """
    return "auto" if arithmetic == "f32" else f"openvino-{arithmetic}"


def available() -> list[str]:
    """Name the runtimes that can be used here, the fastest float32 one first."""
    import onnxruntime as ort

    names = ["onnxruntime"]
    if importlib.util.find_spec("openvino"):
        names = ["openvino", *names, "openvino-bf16"]
        if importlib.util.find_spec("onnx"):
            names.append("openvino-int8")
    if "CUDAExecutionProvider" in ort.get_available_providers():
        names = ["onnxruntime-cuda", *names]
    return names


def chosen(runtime: str) -> str:
    """Give the runtime to use; `auto` is the fastest float32 one that is installed."""
    names = available()
    if runtime == "auto":
        return names[0]
    if runtime not in RUNTIMES:
        raise ScopeError(
            f"the runtime must be auto or one of {', '.join(RUNTIMES)} (installed here: "
            f"{', '.join(names)}), got {runtime!r}"
        )
    if runtime not in names:
        package = {"cuda": "onnxruntime-gpu", "int8": "scopefl[int8]"}.get(
            runtime.rpartition("-")[2], "scopefl[openvino]"
        )
        raise ScopeError(f"the runtime {runtime} is not installed; pip install '{package}'")
    return runtime
