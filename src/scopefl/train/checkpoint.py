"""A training on disk after some round, as one .npz without pickle, to go on from."""

import hashlib
import json
import zipfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scopefl.data.files import replacing
from scopefl.errors import ScopeError
from scopefl.train.history import Round
from scopefl.train.learner import Examples, Weights
from scopefl.train.plan import Plan

VERSION = 1


class Progress(NamedTuple):
    """How far a training is: rounds so far, weights, predictions of the last evaluation."""

    rounds: tuple[Round, ...]
    weights: Weights
    predictions: NDArray[np.int64] | None


def digest_of(sets: Sequence[Examples]) -> str:
    """Give a hash of every example, so that a checkpoint is never continued on other data."""
    digest = hashlib.blake2b(digest_size=16)
    for examples in sets:
        weight = np.empty(0) if examples.weight is None else examples.weight
        for array in (examples.x, examples.y, weight):
            digest.update(f"{array.dtype} {array.shape}".encode())
            digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()


def save(path: Path, progress: Progress, plan: Plan, data: str) -> None:
    """Write the progress, whole or not at all."""
    about = {
        "version": VERSION,
        "plan": plan.as_dict(),
        "data": data,
        "rounds": [asdict(each) for each in progress.rounds],
        "evaluated": progress.predictions is not None,
    }
    arrays: dict[str, NDArray[Any]] = {
        f"weights_{i}": array for i, array in enumerate(progress.weights)
    }
    if progress.predictions is not None:
        arrays["predictions"] = progress.predictions
    with replacing(path) as temporary, temporary.open("wb") as out:
        np.savez(out, allow_pickle=False, about=np.array(json.dumps(about)), **arrays)


def load(path: Path, plan: Plan, data: str) -> Progress | None:
    """Read the progress of this very training; None where there is no file yet."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as stored:
            about = json.loads(str(stored["about"]))
            _check_same(path, about, plan, data)
            count = sum(name.startswith("weights_") for name in stored.files)
            weights = [stored[f"weights_{i}"] for i in range(count)]
            predictions = stored["predictions"] if about["evaluated"] else None
            rounds = tuple(_round(each) for each in about["rounds"])
    except (OSError, ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ScopeError(
            f"{path} must be a checkpoint that scope wrote ({error}); delete it to start again"
        ) from error
    return Progress(rounds, weights, predictions)


def _check_same(path: Path, about: dict[str, object], plan: Plan, data: str) -> None:
    wanted = {"version": VERSION, "plan": plan.as_dict(), "data": data}
    for name, value in wanted.items():
        if about.get(name) != value:
            raise ScopeError(
                f"{path} must be a checkpoint of this training, its {name} differs "
                f"({about.get(name)} there, {value} here); delete it or name another file"
            )


def _round(fields: dict[str, Any]) -> Round:
    lists = {key: tuple(value) for key, value in fields.items() if isinstance(value, list)}
    return Round(**(fields | lists))
