"""How the benchmarks measure: the least of interleaved rounds, and memory from the kernel."""

import os
import platform
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any


def least_seconds(sides: Mapping[str, Callable[[], Any]], rounds: int = 3) -> dict[str, float]:
    """Time the sides in turn, and give the least of each: noise only ever adds."""
    best = dict.fromkeys(sides, float("inf"))
    for _ in range(rounds):
        for name, side in sides.items():
            started = time.perf_counter()
            side()
            best[name] = min(best[name], time.perf_counter() - started)
    return best


def peak_mb() -> float:
    """Give the most memory this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def mb_beyond(call: Callable[[], Any]) -> float:
    """Give the most memory a call held beyond what was held before it, in MB (Linux)."""
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far is forgotten
    before = _high_water_mb()
    call()
    return _high_water_mb() - before


def _high_water_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1000


def machine() -> str:
    """Say what all figures were measured on."""
    from threadpoolctl import threadpool_info

    blas = [f"{one['internal_api']} {one.get('architecture')}" for one in threadpool_info()]
    cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    return f"{platform.processor() or platform.machine()}, {cores} cores, load {load:.1f}, {blas}"


def verdict(name: str, value: float, limit: float, *, at_most: bool = True) -> str:
    """Put a figure beside its limit, and say whether it holds."""
    holds = value <= limit if at_most else value >= limit
    bound = "at most" if at_most else "at least"
    return f"{name}: {value:.2f} ({bound} {limit}) {'met' if holds else 'NOT MET'}"
