"""What something costs: seconds, floating-point operations, memory at its peak, bytes each way."""

import ctypes
import io
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from scopefl.train.history import History
from scopefl.train.learner import Learner, Weights

_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
_RESET_PEAK = "5"


@dataclass(frozen=True)
class Cost:
    """Costs add up, except memory: what comes one after the other needs the larger of both.

    >>> Cost(seconds=1.0, peak_bytes=5) + Cost(seconds=2.0, peak_bytes=3, up=8)
    Cost(seconds=3.0, flops=0, peak_bytes=5, up=8, down=0)
    """

    seconds: float = 0.0
    flops: int = 0
    peak_bytes: int = 0
    up: int = 0
    down: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            self.seconds + other.seconds,
            self.flops + other.flops,
            max(self.peak_bytes, other.peak_bytes),
            self.up + other.up,
            self.down + other.down,
        )


@dataclass
class Meter:
    """Filled in when its block ends; `peak_bytes` is what the process grew by at most."""

    seconds: float = 0.0
    peak_bytes: int = 0

    def cost(self, flops: int = 0, up: int = 0, down: int = 0) -> Cost:
        """Give what the block cost, with what only its caller can count."""
        return Cost(self.seconds, flops, self.peak_bytes, up, down)


@contextmanager
def metered() -> Iterator[Meter]:
    """Measure the wall time of a block and the growth of this process's memory in it."""
    meter = Meter()
    before = _restart_peak()
    began = time.perf_counter()
    try:
        yield meter
    finally:
        meter.seconds = time.perf_counter() - began
        meter.peak_bytes = max(0, _peak() - before)


def encoded_size(weights: Weights) -> int:
    """Count the bytes of weights as they travel, each array in the .npy format."""
    total = 0
    for array in weights:
        file = io.BytesIO()
        np.save(file, array, allow_pickle=False)
        total += file.tell()
    return total


def training_cost(learner: Learner, history: History) -> Cost:
    """Give what a training cost all clients together; memory is measured around it, not here."""
    size = encoded_size(history.weights)
    exchanged = size * sum(len(each.clients) for each in history.rounds)
    flops = history.samples * learner.train_flops()
    return Cost(history.seconds, flops, up=exchanged, down=exchanged)


def _restart_peak() -> int:
    """Let the peak start from what is in use now, where the system can; give that."""
    # What was freed before but kept by the allocator would be used again and not be seen.
    give_back = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if give_back:
        give_back(0)
    try:
        _CLEAR.write_text(_RESET_PEAK)
    except OSError:
        return _peak()
    return _status("VmRSS")


def _peak() -> int:
    if _STATUS.exists():
        return _status("VmHWM")
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _status(name: str) -> int:
    for line in _STATUS.read_text("ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0
