"""Runs what a spec asks for and has not been run yet, one after the other."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scopefl.errors import ScopeError
from scopefl.experiment.learning import HERE, PROBE
from scopefl.experiment.perform import Workshop, perform
from scopefl.experiment.results import Results
from scopefl.experiment.settings import Data
from scopefl.experiment.spec import Run, Spec


@dataclass(frozen=True)
class Progress:
    """How far a spec is: runs done of all, those that failed now, and the seconds left."""

    done: int
    total: int
    failed: int
    seconds_left: float


OnRun = Callable[[Progress], None]


def run_spec(
    spec: Spec, folder: Path, workshop: Workshop, on_run: OnRun = lambda _: None
) -> Progress:
    """Run every cell that `folder` has no result of; a run that fails does not stop the others."""
    results = Results(folder, spec)
    runs = spec.runs()
    waiting = [run for run in runs if run.key not in results.done]
    progress = Progress(len(runs) - len(waiting), len(runs), 0, 0.0)
    on_run(progress)
    absent = _absent(waiting, workshop)
    began = time.perf_counter()
    for place, run in enumerate(waiting, 1):
        reason = absent.get(run.data) or _failed(run, results, workshop, folder)
        if reason:
            results.add_failure(run, reason)
        spent = time.perf_counter() - began
        progress = Progress(
            progress.done + (not reason),
            len(runs),
            progress.failed + bool(reason),
            spent / place * (len(waiting) - place),
        )
        on_run(progress)
    return progress


def _absent(waiting: list[Run], workshop: Workshop) -> dict[Data, str]:
    """Load every data set, and say of those that cannot be had why; all of them is an error."""
    absent: dict[Data, str] = {}
    first_of = {run.data: run for run in reversed(waiting)}
    for data, run in first_of.items():
        try:
            workshop.collection(run)
        except ScopeError as error:
            absent[data] = str(error)
            if len(absent) == len(first_of):
                raise
    return absent


def _failed(run: Run, results: Results, workshop: Workshop, folder: Path) -> str:
    """Do one run and keep its result; give the reason where it fails, else nothing."""
    started = time.perf_counter()
    checkpoint = _checkpoint_of(run, folder)
    try:
        results.add(run, perform(run, workshop, checkpoint), time.perf_counter() - started)
    except ScopeError as error:
        # Where a file cannot be written or read, the next run would fail too.
        if isinstance(error.__cause__, OSError):
            raise
        return str(error)
    if checkpoint:
        checkpoint.unlink(missing_ok=True)
    return ""


def _checkpoint_of(run: Run, folder: Path) -> Path | None:
    # A probe's training is over here before its checkpoint would be written.
    quick = run.training.model == PROBE and run.training.runner == HERE
    return None if quick else folder / "checkpoints" / f"{run.key}.npz"
