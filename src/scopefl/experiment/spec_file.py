"""Reads a spec file: settings by section, lists where a value is varied, cases, presets over it."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from scopefl.errors import ScopeError
from scopefl.experiment.settings import SECTIONS, Value, check_name, typed, types_of
from scopefl.experiment.spec import CASE, Case, Layout, Spec
from scopefl.methods import METHODS

MOST_CELLS = 1_000_000
PARTS = ("title", "note", "seeds", "table", CASE, *SECTIONS)
"""What a spec may hold, and each of its presets."""

Values = dict[str, tuple[Value, ...]]


def read_spec(path: Path, preset: str = "", changes: Sequence[str] = ()) -> Spec:
    """Read a spec file, lay a preset over it, and then single changes `name=value`."""
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
    presets = _presets(document)
    if preset:
        check_name(presets, preset, "[presets]")
    layers = (document, presets.get(preset, {}))
    told: dict[str, Any] = {"title": "", "note": "", "seeds": Spec("", {}).seeds, "table": {}}
    values, cases = _defaults(), tuple[Case, ...]()
    for layer in layers:
        given = _section_values(layer)
        cases = _cases(layer[CASE]) if CASE in layer else _without(cases, given)
        values |= given
        table = {**told["table"], **layer.get("table", {})}
        told |= {name: layer[name] for name in told if name in layer} | {"table": table}
    for change in changes:
        given = _changed(change)
        values, cases = values | given, _without(cases, given)
    if cases:
        values[CASE] = tuple(case.name for case in cases)
    spec = Spec(
        title=str(told["title"]),
        values=values,
        seeds=int(typed(told["seeds"], int, "seeds")),
        layout=_layout(told["table"]),
        preset=preset,
        note=str(told["note"]),
        cases=cases,
    )
    return _checked(spec)


def with_seeds(spec: Spec, seeds: int) -> Spec:
    """Give the spec with another number of seeds."""
    return _checked(replace(spec, seeds=seeds))


def _presets(document: Mapping[str, Any]) -> Mapping[str, Any]:
    presets: Mapping[str, Any] = document.get("presets", {})
    for name in document:
        check_name([*PARTS, "presets"], name, "the spec")
    for preset, layer in presets.items():
        for name in layer:
            check_name(list(PARTS), name, f"[presets.{preset}]")
    return presets


def _defaults() -> Values:
    return {
        f"{section}.{name}": (getattr(kind(), name),)
        for section, kind in SECTIONS.items()
        for name in types_of(kind)
    }


def _section_values(layer: Mapping[str, Any]) -> Values:
    values = {}
    for section, kind in SECTIONS.items():
        given = layer.get(section, {})
        if not isinstance(given, Mapping):
            raise ScopeError(f"[{section}] must be a section, got {given!r}")
        for name, value in given.items():
            values[f"{section}.{name}"] = _values(section, kind, name, value)
    return values


def _cases(given: Any) -> tuple[Case, ...]:
    if not isinstance(given, list) or not all(isinstance(each, Mapping) for each in given):
        raise ScopeError("a case must be a section of its own, under [[case]]")
    return tuple(map(_case, given))


def _case(given: Mapping[str, Any]) -> Case:
    for name in given:
        check_name(["name", *SECTIONS], name, "[[case]]")
    name = str(typed(given.get("name"), str, "[[case]] name"))
    values = _section_values(given)
    for setting, several in values.items():
        if len(several) > 1:
            raise ScopeError(f"[[case]] {name} must set {setting} to one value, got {several}")
    return Case(name, {setting: several[0] for setting, several in values.items()})


def _without(cases: tuple[Case, ...], given: Values) -> tuple[Case, ...]:
    """Let what is given later stand in every case."""
    return tuple(
        replace(case, values={n: v for n, v in case.values.items() if n not in given})
        for case in cases
    )


def _values(section: str, kind: type, name: str, value: Any) -> tuple[Value, ...]:
    wanted = types_of(kind)
    check_name(wanted, name, f"[{section}]")
    several = value if isinstance(value, list) else [value]
    if not several:
        raise ScopeError(f"[{section}] {name} must have at least one value, got none")
    return tuple(typed(each, wanted[name], f"[{section}] {name}") for each in several)


def _changed(change: str) -> Values:
    place, equals, text = change.partition("=")
    section, dot, name = place.strip().rpartition(".")
    if not (equals and name):
        raise ScopeError(f"--set takes name=value or section.name=value, got {change!r}")
    section = section if dot else _section_of(name)
    if section not in SECTIONS:
        check_name(list(SECTIONS), section, "the spec")
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        value = text.strip()
    return {f"{section}.{name}": _values(section, SECTIONS[section], name, value)}


def _section_of(name: str) -> str:
    """Name the section of a setting; no two sections share one."""
    sections = {each: section for section, kind in SECTIONS.items() for each in types_of(kind)}
    check_name(sections, name, "the spec")
    return sections[name]


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
    _check_cases(spec)
    for method in _every("pruning.method", spec) | _every("pruning.reference", spec):
        if method not in METHODS:
            check_name(METHODS, str(method), "[pruning] method")
    for mode in _every("pruning.mode", spec):
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


def _check_cases(spec: Spec) -> None:
    names = [case.name for case in spec.cases]
    if len(set(names)) < len(names):
        raise ScopeError(f"every [[case]] must have a name of its own, got {', '.join(names)}")
    for case in spec.cases:
        for setting in case.values:
            if len(spec.values[setting]) > 1:
                raise ScopeError(
                    f"[[case]] {case.name} sets {setting}, which the spec varies; do one of both"
                )


def _every(setting: str, spec: Spec) -> set[Value]:
    return {
        *spec.values[setting],
        *(case.values[setting] for case in spec.cases if setting in case.values),
    }
