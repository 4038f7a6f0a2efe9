"""A Ray cluster: the one that RAY_ADDRESS names, or this machine's cores for a while."""

import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from scopefl.errors import ScopeError
from scopefl.vision.runtimes import usable_cores

PATIENCE = 10.0
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}
"""Nothing is sent to Ray's makers, and standard error is left to us."""


@dataclass(frozen=True)
class Fleet:
    """How many actors embed, as many as there is room for if None, and what each may use."""

    workers: int | None = None
    cpus: int = 1
    gpus: float = 0


def room_for(fleet: Fleet, there: dict[str, float]) -> int:
    """Give how many actors to start, or say that the cluster has no room for them.

    >>> room_for(Fleet(cpus=2), {"CPU": 5.0})
    2
    """
    need = {"CPU": fleet.cpus, "GPU": fleet.gpus}
    most = int(min(there.get(name, 0) // n for name, n in need.items() if n))
    wanted = fleet.workers or max(most, 1)
    if wanted > most:
        raise ScopeError(
            f"{wanted} workers need {wanted * fleet.cpus} cores and {wanted * fleet.gpus:g} GPUs, "
            f"and Ray has {there.get('CPU', 0):g} and {there.get('GPU', 0):g}; ask for fewer "
            "--workers, or set RAY_ADDRESS to a larger cluster"
        )
    return wanted


@contextmanager
def started() -> Iterator[dict[str, float]]:
    """Lend what Ray has: the cluster that RAY_ADDRESS names, else one of this machine's cores."""
    address = os.environ.get("RAY_ADDRESS", "local")
    _check_there(address)
    os.environ.update({**QUIET, **os.environ})
    try:
        import ray
        import ray.data
    except ImportError:
        raise ScopeError('--engine ray needs: pip install "scopefl[ray]"') from None
    own: Any = {"num_cpus": usable_cores(), "include_dashboard": False}
    try:
        ray.init(
            address,
            log_to_driver=False,
            logging_level=logging.ERROR,
            **(own if address == "local" else {}),
        )
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise ScopeError(f"RAY_ADDRESS {address} could not be reached: {error}") from error
    for name in ("ray", "ray.data"):
        logging.getLogger(name).setLevel(logging.ERROR)
    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    try:
        yield ray.cluster_resources()
    finally:
        ray.shutdown()


def _check_there(address: str) -> None:
    """Refuse at once a cluster that does not answer, for which Ray itself waits many minutes."""
    if address in ("local", "auto"):
        return
    host, _, port = address.rpartition(":")
    if not (host and port.isdigit()) or "/" in host:
        raise ScopeError(f"RAY_ADDRESS must be HOST:PORT or auto, got {address!r}")
    try:
        socket.create_connection((host, int(port)), PATIENCE).close()
    except OSError as error:
        raise ScopeError(f"RAY_ADDRESS {address} does not answer: {error}") from error
