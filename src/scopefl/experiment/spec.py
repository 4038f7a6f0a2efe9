"""A spec file: settings by section, a list wherever a value is varied, and presets over it."""

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
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
    check_name,
    typed,
    types_of,
)
from scopefl.methods import METHODS

MOST_CELLS = 1_000_000


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

    @property
    def varied(self) -> tuple[str, ...]:
        """Name the settings that take more than one value."""
        return tuple(name for name, values in self.values.items() if len(values) > 1)

    def cells(self) -> Iterator[tuple[dict[str, Value], Run]]:
        """Give each combination of values and the run that stands for it, seed by seed."""
        for row in itertools.product(*self.values.values()):
            values = dict(zip(self.values, row, strict=True))
            for seed in range(self.first_seed, self.first_seed + self.seeds):
                yield values, _without_idle_settings(_run(values, seed))

    def runs(self) -> list[Run]:
        """Give every run once: seed after seed, and those of one partition together."""
        unique = {run.key: run for _, run in self.cells()}
        return sorted(unique.values(), key=_seed_first)

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
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> "Spec":
        """Read what `as_dict` gave."""
        values = {name: tuple(several) for name, several in stored["values"].items()}
        return cls(**{**stored, "values": values, "layout": _layout(stored["layout"])})


def read_spec(path: Path, preset: str = "", changes: Sequence[str] = ()) -> Spec:
    """Read a spec file, lay a preset over it, and then single changes `section.name=value`."""
    try:
        text = path.read_text("utf-8")
        document = tomllib.loads(text)
    except OSError as error:
        raise ScopeError(f"{path} could not be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScopeError(f"{path} must be TOML: {error}") from error
    return parse_spec(document, preset, changes)


def parse_spec(document: Mapping[str, Any], preset: str = "", changes: Sequence[str] = ()) -> Spec:
    """Check a spec's document and every name and value in it."""
    known = ["title", "note", "seeds", "table", "presets", *SECTIONS]
    for name in document:
        check_name(known, name, "the spec")
    presets = document.get("presets", {})
    if preset:
        check_name(presets, preset, "[presets]")
    over = presets.get(preset, {})
    values: dict[str, tuple[Value, ...]] = {
        f"{section}.{name}": (default,)
        for section, kind in SECTIONS.items()
        for name, default in _defaults(kind).items()
    }
    seeds = document.get("seeds", 5)
    for layer in (document, over):
        values |= _section_values(layer)
        seeds = layer.get("seeds", seeds)
    for change in changes:
        values |= _changed(change)
    spec = Spec(
        title=str(document.get("title", "")),
        values=values,
        seeds=int(typed(seeds, int, "seeds")),
        layout=_layout({**document.get("table", {}), **over.get("table", {})}),
        preset=preset,
        note=str(document.get("note", "")),
    )
    return _checked(spec)


def with_seeds(spec: Spec, seeds: int) -> Spec:
    """Give the spec with another number of seeds."""
    return _checked(replace(spec, seeds=seeds))


def _defaults(kind: type) -> dict[str, Value]:
    section = kind()
    return {name: getattr(section, name) for name in types_of(kind)}


def _section_values(layer: Mapping[str, Any]) -> dict[str, tuple[Value, ...]]:
    values = {}
    for section, kind in SECTIONS.items():
        given = layer.get(section, {})
        if not isinstance(given, Mapping):
            raise ScopeError(f"[{section}] must be a section, got {given!r}")
        for name, value in given.items():
            values[f"{section}.{name}"] = _values(section, kind, name, value)
    return values


def _values(section: str, kind: type, name: str, value: Any) -> tuple[Value, ...]:
    wanted = types_of(kind)
    check_name(wanted, name, f"[{section}]")
    several = value if isinstance(value, list) else [value]
    if not several:
        raise ScopeError(f"[{section}] {name} must have at least one value, got none")
    return tuple(typed(each, wanted[name], f"[{section}] {name}") for each in several)


def _changed(change: str) -> dict[str, tuple[Value, ...]]:
    place, equals, text = change.partition("=")
    section, dot, name = place.strip().partition(".")
    if not (equals and dot):
        raise ScopeError(f"--set takes section.name=value, got {change!r}")
    if section not in SECTIONS:
        check_name(list(SECTIONS), section, "the spec")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    return {f"{section}.{name}": _values(section, SECTIONS[section], name, value)}


def _layout(given: Mapping[str, Any]) -> Layout:
    known = [f.name for f in fields(Layout)]
    for name in given:
        check_name(known, name, "[table]")
    plain = Layout()
    return Layout(
        rows=str(given.get("rows", plain.rows)),
        columns=tuple(map(str, given.get("columns", plain.columns))),
        average=tuple(map(str, given.get("average", plain.average))),
        metrics=tuple(map(str, given.get("metrics", plain.metrics))),
        figure=str(given.get("figure", plain.figure)),
    )


def _checked(spec: Spec) -> Spec:
    for method in (*spec.values["pruning.method"], *spec.values["pruning.reference"]):
        if method not in METHODS:
            check_name(METHODS, str(method), "[pruning] method")
    for mode in spec.values["pruning.mode"]:
        if mode not in ("native", "matched"):
            raise ScopeError(f"[pruning] mode must be native or matched, got {mode!r}")
    if spec.seeds < 1:
        raise ScopeError(f"seeds must be at least 1, got {spec.seeds}")
    cells = spec.seeds
    for values in spec.values.values():
        cells *= len(values)
    if cells > MOST_CELLS:
        raise ScopeError(f"a spec may ask for {MOST_CELLS} runs at most, this one for {cells}")
    return spec


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
