"""A checked spec: the values of every setting, and the runs that they come to."""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

from scopefl.core.fingerprint import digest
from scopefl.errors import ScopeError
from scopefl.experiment.settings import (
    SECTIONS,
    Data,
    Division,
    Pruning,
    Training,
    Value,
    types_of,
)
from scopefl.methods import METHODS

TOLD = (
    "data.name", "data.samples", "data.encoder", "partition.clients", "partition.alpha",
    "partition.imbalance_ratio", "partition.noise", "training.model", "training.rounds",
    "training.fraction", "pruning.mode",
)  # fmt: skip
"""Settings that stand above every table."""

CASE = "case"
"""Stands among the settings for what is set case by case."""


@dataclass(frozen=True)
class Layout:
    """How results become a table: what goes down, what across, and which metrics are shown.

    A cell is the mean over the settings in `average`, seed by seed.
    """

    rows: str = "method"
    columns: tuple[str, ...] = ()
    average: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ("accuracy",)
    figure: str = ""


@dataclass(frozen=True)
class Run:
    """One run: a value for every setting, and the seed of everything random in it."""

    data: Data
    partition: Division
    training: Training
    pruning: Pruning
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """Give every setting as `section.name`, and the seed."""
        flat: dict[str, Any] = {
            f"{section}.{name}": getattr(getattr(self, section), name)
            for section, kind in SECTIONS.items()
            for name in types_of(kind)
        }
        return flat | {"seed": self.seed}

    @property
    def key(self) -> str:
        """Give what names this run's results: a hash of all its settings."""
        return digest(self.as_dict())[:24]


@dataclass(frozen=True)
class Case:
    """Settings that change together, such as a data set and the model the paper trains on it."""

    name: str
    values: Mapping[str, Value]


@dataclass(frozen=True)
class Spec:
    """A checked spec: title, values of each setting, seeds, layout, and the preset it was read by.

    `note` says what the file itself wants to be known beside its tables.
    """

    title: str
    values: Mapping[str, tuple[Value, ...]]
    seeds: int = 5
    first_seed: int = 0
    layout: Layout = field(default_factory=Layout)
    preset: str = ""
    note: str = ""
    cases: tuple[Case, ...] = ()

    @property
    def varied(self) -> tuple[str, ...]:
        """Name the settings that take more than one value."""
        return tuple(name for name, values in self.values.items() if len(values) > 1)

    def cells(self) -> Iterator[tuple[dict[str, Value], Run]]:
        """Give each combination of values and the run that stands for it, seed by seed."""
        of_case = {case.name: case.values for case in self.cases}
        for row in itertools.product(*self.values.values()):
            values = dict(zip(self.values, row, strict=True))
            values |= of_case.get(str(values.get(CASE)), {})
            for seed in range(self.first_seed, self.first_seed + self.seeds):
                yield values, _without_idle_settings(_run(values, seed))

    def runs(self) -> list[Run]:
        """Give every run once: seed after seed, and those of one partition together."""
        unique = {run.key: run for _, run in self.cells()}
        return sorted(unique.values(), key=_seed_first)

    def __str__(self) -> str:
        """Say what was run, as far as it is the same in every cell and no matter of taste."""
        differing = {*self.varied, *(name for case in self.cases for name in case.values)}
        words = {name: name.rpartition(".")[2] for name in TOLD} | {"data.name": "data"}
        told = [f"{words[name]} {self.values[name][0]}" for name in TOLD if name not in differing]
        last = self.first_seed + self.seeds - 1
        return f"{', '.join(told)}; seeds {self.first_seed} to {last}"

    def as_dict(self) -> dict[str, Any]:
        """Give the spec as JSON can hold it."""
        layout = {f.name: getattr(self.layout, f.name) for f in fields(Layout)}
        return {
            "title": self.title,
            "values": {name: list(values) for name, values in self.values.items()},
            "seeds": self.seeds,
            "first_seed": self.first_seed,
            "layout": layout,
            "preset": self.preset,
            "note": self.note,
            "cases": [{"name": case.name, "values": dict(case.values)} for case in self.cases],
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Spec":
        """Read what `as_dict` gave."""
        values = {name: tuple(several) for name, several in stored["values"].items()}
        if absent := [name for name in _settings() if name not in values]:
            raise ScopeError(
                f"results must be of a version of scopefl that has the setting {absent[0]}, "
                "these are older; run the spec again into another folder"
            )
        cases = tuple(Case(**each) for each in stored.get("cases", ()))
        layout: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in stored["layout"].items()
        }
        return cls(**{**stored, "values": values, "layout": Layout(**layout), "cases": cases})


def _settings() -> list[str]:
    return [f"{section}.{name}" for section, kind in SECTIONS.items() for name in types_of(kind)]


def _run(values: Mapping[str, Any], seed: int) -> Run:
    sections = {
        section: kind(**{name: values[f"{section}.{name}"] for name in types_of(kind)})
        for section, kind in SECTIONS.items()
    }
    return Run(**sections, seed=seed)


def _without_idle_settings(run: Run) -> Run:
    """Put settings a method does not look at to their defaults, so that no run is done twice."""
    pruning, idle = run.pruning, Pruning()
    method = METHODS[pruning.method]
    if pruning.method == "full":
        return replace(run, pruning=Pruning(method="full"))
    if not method.warm_up:
        pruning = replace(
            pruning, warm_up_repeats=idle.warm_up_repeats, warm_up_model=idle.warm_up_model
        )
    if method.matches != "nothing" and pruning.mode == "matched":
        return replace(run, pruning=pruning)
    pruning = replace(pruning, mode="native", reference=idle.reference)
    if method.uses in ("labels", "embeddings"):
        pruning = replace(pruning, p_l=idle.p_l, beta=idle.beta)
    return replace(run, pruning=pruning)


def _seed_first(run: Run) -> tuple[int, str, str]:
    return run.seed, f"{run.data}{run.partition}", f"{run.training}{run.pruning}"
