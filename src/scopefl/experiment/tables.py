"""Results to tables: mean and standard deviation, what was kept, and which differences hold."""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from scopefl.errors import ScopeError
from scopefl.experiment.results import Stored
from scopefl.experiment.settings import check_name
from scopefl.experiment.shown import PERCENT, check_metric, numbers
from scopefl.experiment.spec import Spec
from scopefl.experiment.statistics import Paired, holm, paired

METHOD = "pruning.method"
RANDOM = "random"
OURS = ("scope", "scope-visual", "budget", "budget-visual")
UPPER = ("full",)
"""Not a baseline at equal budget."""
NOT_RUN = "not run"
NOT_DEFINED = "n/a"
"""For a metric that a run does not have, such as the precision of a filter that is not there."""

Place = tuple[Any, ...]
ByRow = Mapping[str, Mapping[int, float]]


@dataclass(frozen=True)
class Table:
    """A title, the names of its columns, and rows of text."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Cells:
    """Values of one slice: by row, column and metric, a value a seed."""

    rows: tuple[Any, ...]
    columns: tuple[Place, ...]
    values: Mapping[tuple[Any, Place, str], Mapping[int, float]]

    def of(self, row: Any, column: Place, metric: str) -> Mapping[int, float]:
        """Give the values by seed; none where nothing was run."""
        return self.values.get((row, column, metric), {})


def tables(stored: Stored) -> list[Table]:
    """Give every table of a spec: its metrics, what was kept, and the tests."""
    spec = stored.spec
    found = list[Table]()
    for where, cells in slices(stored):
        preset = f" [preset {spec.preset}]" if spec.preset else ""
        title = spec.title + preset + (f" ({where})" if where else "")
        found += [
            _of_metric(f"{title}: {_named(metric)}", cells, metric, spec)
            for metric in spec.layout.metrics
        ]
        found.append(_of_kept(f"{title}: kept % / imbalance ratio of the coreset", cells, spec))
        if full_name(spec, spec.layout.rows) == METHOD:
            tested = comparisons(cells, spec.layout.metrics[0])
            if tested:
                found.append(_of_tests(title, spec.layout.metrics[0], tested))
    return found


def full_name(spec: Spec, name: str) -> str:
    """Give `section.name` of a setting named with or without its section."""
    if name in spec.values:
        return name
    short = {each.partition(".")[2]: each for each in spec.values}
    check_name(short, name, "[table]")
    return short[name]


def slices(stored: Stored) -> Iterable[tuple[str, Cells]]:
    """Give, for each combination of what is neither a row nor a column, its cells."""
    spec = stored.spec
    row_name = full_name(spec, spec.layout.rows)
    column_names = [full_name(spec, name) for name in spec.layout.columns]
    averaged = [full_name(spec, name) for name in spec.layout.average]
    others = [n for n in spec.varied if n not in (row_name, *column_names, *averaged)]
    found: dict[Place, dict[tuple[Any, Place, str], dict[int, list[float]]]] = {}
    metrics = spec.layout.metrics
    for values, run in spec.cells():
        slice_ = found.setdefault(tuple(values[name] for name in others), {})
        column = tuple(values[name] for name in column_names)
        for metric, value in numbers(stored.results.get(run.key), metrics).items():
            cell = slice_.setdefault((values[row_name], column, metric), {})
            cell.setdefault(run.seed, []).append(value)
    rows, columns = spec.values[row_name], _product(spec, column_names)
    whole = len(_product(spec, averaged))
    for place, cells in found.items():
        where = ", ".join(f"{_short(n)} {v}" for n, v in zip(others, place, strict=True))
        yield where, Cells(rows, columns, {at: _means(cells[at], whole) for at in cells})


def _means(by_seed: Mapping[int, Sequence[float]], whole: int) -> dict[int, float]:
    """Give the mean of each seed that has all it is to be averaged over."""
    return {seed: float(np.mean(v)) for seed, v in by_seed.items() if len(v) == whole}


def comparisons(cells: Cells, metric: str) -> list[tuple[str, str, str, Paired, float]]:
    """Test our methods (all, where none is ours) against random, best baseline and full data.

    Over all columns, a seed gives one number, its mean, so that columns are not taken for seeds.
    That question and those of single columns are corrected for their number apart.
    """
    by_column: dict[str, ByRow] = {
        _label(c): {str(r): cells.of(r, c, metric) for r in cells.rows} for c in cells.columns
    }
    found = _tested(by_column)
    if len(cells.columns) > 1:
        found += _tested({"all": _mean_over_columns(cells, metric)})
    return found


def _tested(by_column: Mapping[str, ByRow]) -> list[tuple[str, str, str, Paired, float]]:
    tested: list[tuple[str, str, str, Paired]] = []
    for label, by_row in by_column.items():
        baselines = [r for r in by_row if r not in (*OURS, *UPPER) and not _is_ablation(r)]
        rivals = dict.fromkeys((RANDOM, _best(baselines, by_row), *UPPER))
        ours = [r for r in by_row if r in OURS] or list(by_row)
        for row, rival in itertools.product(ours, [r for r in rivals if r in by_row]):
            seeds = sorted(set(by_row[row]) & set(by_row[rival]))
            if row != rival and seeds:
                values = ([by_row[each][seed] for seed in seeds] for each in (row, rival))
                tested.append((row, rival, label, paired(*values)))
    corrected = holm([test.p for *_, test in tested])
    return [(*each, p) for each, p in zip(tested, corrected, strict=True)]


def _best(rows: Sequence[str], by_row: ByRow) -> str:
    means = [_mean(by_row[row]) for row in rows]
    return rows[int(np.argmax(means))] if rows else ""


def _mean_over_columns(cells: Cells, metric: str) -> ByRow:
    means: dict[str, Mapping[int, float]] = {}
    for row in cells.rows:
        by_column = [cells.of(row, column, metric) for column in cells.columns]
        seeds = set.intersection(*(set(values) for values in by_column))
        means[str(row)] = {s: float(np.mean([values[s] for values in by_column])) for s in seeds}
    return means


def _of_metric(title: str, cells: Cells, metric: str, spec: Spec) -> Table:
    def text(row: Any, column: Place) -> str:
        values, ran = (cells.of(row, column, name) for name in (metric, "kept"))
        if not values and ran:
            return NOT_DEFINED
        if len(values) < len(ran):
            shown = mean_and_deviation(values, metric, len(values))
            return f"{shown} (in {len(values)} of {len(ran)} runs)"
        return mean_and_deviation(values, metric, spec.seeds)

    return _pivot(title, cells, text, spec)


def _of_kept(title: str, cells: Cells, spec: Spec) -> Table:
    def text(row: Any, column: Place) -> str:
        kept = cells.of(row, column, "kept")
        ratio = cells.of(row, column, "imbalance_after")
        if not kept:
            return NOT_RUN
        balance = f"{_mean(ratio):.3g}" if len(ratio) == len(kept) else "a class is empty"
        return f"{100 * _mean(kept):.1f} / {balance}"

    return _pivot(title, cells, text, spec)


def _pivot(title: str, cells: Cells, text: Any, spec: Spec) -> Table:
    names = " ".join(_short(name) for name in spec.layout.columns)
    header = (_short(spec.layout.rows), *(f"{_label(c)}" for c in cells.columns))
    rows = tuple((str(r), *(text(r, c) for c in cells.columns)) for r in cells.rows)
    return Table(f"{title}, by {names}" if names else title, header, rows)


def _of_tests(
    title: str, metric: str, tested: Sequence[tuple[str, str, str, Paired, float]]
) -> Table:
    title = f"{title}: {_named(metric)}, paired tests"
    scale, form = (100, "+.2f") if metric in PERCENT else (1, "+.3g")
    rows = tuple(
        (
            row,
            rival,
            label,
            f"{scale * t.difference:{form}}",
            str(t.pairs),
            f"{p:.3f}",
            _verdict(t, p),
        )
        for row, rival, label, t, p in tested
    )
    header = ("method", "against", "column", "difference", "seeds", "p (Holm)", "verdict")
    return Table(title, header, rows)


def _verdict(test: Paired, p: float) -> str:
    if p >= 0.05:
        return "no difference shown"
    return "higher" if test.difference > 0 else "lower"


def mean_and_deviation(values: Mapping[int, float], metric: str, seeds: int) -> str:
    """Give mean and sample standard deviation; how many seeds, where some are missing.

    >>> mean_and_deviation({0: 0.5, 1: 0.7}, "accuracy", 2)
    '60.0 ± 14.1'
    >>> mean_and_deviation({0: 14_470}, "choosing_up", 1)
    '14,470'
    """
    if not values:
        return NOT_RUN
    scale = 100 if metric in PERCENT else 1
    numbers = scale * np.array(list(values.values()))
    spread = numbers.std(ddof=1) if len(numbers) > 1 else None
    form = ".1f" if scale == 100 else ".4g" if abs(numbers.mean()) < 1000 else ",.0f"
    text = f"{numbers.mean():{form}}" + ("" if spread is None else f" ± {spread:{form}}")
    return text if len(numbers) == seeds else f"{text} ({len(numbers)} of {seeds} seeds)"


def _product(spec: Spec, names: Sequence[str]) -> tuple[Place, ...]:
    places: list[Place] = [()]
    for name in names:
        places = [(*place, value) for place in places for value in spec.values[name]]
    return tuple(places)


def _is_ablation(row: Any) -> bool:
    return str(row).startswith("scope-")


def _mean(values: Mapping[int, float]) -> float:
    return float(np.mean(list(values.values()))) if values else -np.inf


def _short(name: str) -> str:
    return name.rpartition(".")[2].replace("_", " ")


def _named(metric: str) -> str:
    return metric.replace("_", " ") + (", percent" if metric in PERCENT else "")


def _label(column: Place) -> str:
    return " / ".join(map(str, column)) or "value"


def check_layout(spec: Spec) -> None:
    """Refuse a layout that names what no setting is called."""
    for name in (spec.layout.rows, *spec.layout.columns, *spec.layout.average):
        full_name(spec, name)
    if not spec.layout.metrics:
        raise ScopeError("[table] metrics must name at least one metric, got none")
    for metric in spec.layout.metrics:
        check_metric(metric)
