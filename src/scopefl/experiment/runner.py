"""Runs what a spec asks for and has not been run yet, one after the other."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scopefl.errors import ScopeError
from scopefl.experiment.learning import HERE, PROBE
from scopefl.experiment.perform import Workshop, perform
from scopefl.experiment.results import Results
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
    done, failed = len(runs) - len(waiting), 0
    progress = Progress(done, len(runs), failed, 0.0)
    on_run(progress)
    began = None
    for place, run in enumerate(waiting):
        workshop.collection(run)
        began = began or time.perf_counter()
        started = time.perf_counter()
        try:
            checkpoint = _checkpoint_of(run, folder)
            results.add(run, perform(run, workshop, checkpoint), time.perf_counter() - started)
            if checkpoint:
                checkpoint.unlink(missing_ok=True)
        except ScopeError as error:
            if isinstance(error.__cause__, OSError):
                raise
            results.add_failure(run, str(error))
            failed += 1
        spent = time.perf_counter() - began
        left = spent / (place + 1) * (len(waiting) - place - 1)
        progress = Progress(done + place + 1 - failed, len(runs), failed, left)
        on_run(progress)
    return progress


def _checkpoint_of(run: Run, folder: Path) -> Path | None:
    # A probe's training is over here before its checkpoint would be written.
    quick = run.training.model == PROBE and run.training.runner == HERE
    return None if quick else folder / "checkpoints" / f"{run.key}.npz"
