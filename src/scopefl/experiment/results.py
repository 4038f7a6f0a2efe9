"""What was run, line by line in one file that only ever grows: specs, environments, results."""

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from scopefl import __version__
from scopefl.core.fingerprint import canonical_json, digest
from scopefl.errors import ScopeError
from scopefl.experiment.spec import Run, Spec

FILE = "results.jsonl"
PACKAGES = ("numpy", "onnxruntime", "openvino", "torch", "timm", "scipy", "kmedoids")


@dataclass(frozen=True)
class Stored:
    """What a results file holds: the spec last run, results by key, failures by key."""

    spec: Spec
    results: dict[str, dict[str, Any]]
    failures: dict[str, str]


class Results:
    """Appends to a results file; every line is on disk before the next run starts."""

    def __init__(self, folder: Path, spec: Spec) -> None:
        self.path = folder / FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            _end_torn_line(self.path)
        except OSError as error:
            raise self._not_written(error) from error
        self.done = {line["key"] for line in read_lines(self.path) if line["kind"] == "run"}
        self._append({"kind": "spec", "spec": spec.as_dict()})
        here = environment()
        self.environment = digest(here)[:12]
        self._append({"kind": "environment", "id": self.environment, **here})

    def add(self, run: Run, result: dict[str, Any], seconds: float) -> None:
        """Keep the result of a run."""
        self._append(
            {
                "kind": "run",
                "key": run.key,
                "settings": run.as_dict(),
                "environment": self.environment,
                "seconds": round(seconds, 3),
                "result": result,
            }
        )
        self.done.add(run.key)

    def add_failure(self, run: Run, error: str) -> None:
        """Keep why a run failed; it is tried again next time."""
        settings = run.as_dict()
        self._append({"kind": "failed", "key": run.key, "settings": settings, "error": error})

    def _append(self, line: dict[str, Any]) -> None:
        try:
            with self.path.open("ab") as file:
                file.write(canonical_json(line) + b"\n")
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise self._not_written(error) from error

    def _not_written(self, error: OSError) -> ScopeError:
        return ScopeError(
            f"{self.path} could not be written ({error.strerror}); what is in it stays, "
            "free some space and run again to go on"
        )


def read_results(folder: Path) -> Stored:
    """Give what a folder of results holds."""
    spec, results, failures = None, dict[str, dict[str, Any]](), dict[str, str]()
    for line in read_lines(folder / FILE):
        if line["kind"] == "spec":
            spec = Spec.from_dict(line["spec"])
        elif line["kind"] == "run":
            results[line["key"]] = line["result"]
            failures.pop(line["key"], None)
        elif line["kind"] == "failed" and line["key"] not in results:
            failures[line["key"]] = line["error"]
    if spec is None:
        raise ScopeError(f"{folder} must hold results of `scope run`, there is no {FILE} with any")
    return Stored(spec, results, failures)


def read_lines(path: Path) -> Iterator[dict[str, Any]]:
    """Give every whole line; one that was torn by a kill is passed over."""
    if not path.exists():
        return
    with path.open("rb") as file:
        for line in file:
            try:
                yield json.loads(line)
            except ValueError:
                continue


def _end_torn_line(path: Path) -> None:
    if not path.exists() or path.stat().st_size == 0:
        return
    with path.open("rb+") as file:
        file.seek(-1, os.SEEK_END)
        if file.read(1) != b"\n":
            file.write(b"\n")


def environment() -> dict[str, Any]:
    """Say what ran: versions, processor, threads."""
    return {
        "scopefl": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processors": os.cpu_count(),
        "threads": os.environ.get("OMP_NUM_THREADS", ""),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
