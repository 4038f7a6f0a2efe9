"""Results as figures: curves over a setting, and what became of each class and each client."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scopefl.data.files import write_bytes
from scopefl.errors import ScopeError
from scopefl.experiment.perform import Workshop
from scopefl.experiment.results import Stored
from scopefl.experiment.samples import CENTRE, FATES, by_scores, on_a_map
from scopefl.experiment.settings import check_name
from scopefl.experiment.shown import PERCENT, numbers
from scopefl.experiment.tables import full_name

Records = list[dict[str, Any]]
FULL = "full"
COLOURS = {"kept": "#2a9d5a", "anomalous": "#d1495b", "redundant": "#edae49", CENTRE: "#1f2937"}
"""Those of the paper, with one for the centres."""


def records(stored: Stored) -> Records:
    """Give a record a cell and seed: varied settings and columns, and every number measured."""
    spec = stored.spec
    names = {*spec.varied, *(full_name(spec, name) for name in spec.layout.columns)}
    found = []
    for values, run in spec.cells():
        result = stored.results.get(run.key)
        if result is not None:
            varied = {name.rpartition(".")[2]: values[name] for name in names}
            method = {"method": values["pruning.method"], "seed": run.seed}
            found.append(varied | method | {"result": result})
    return found


def curves(stored: Stored, workshop: Workshop) -> Any:  # noqa: ARG001
    """Draw the first metric over the first column, a line for all else that is varied."""
    altair = _altair()
    x, metric, rows = _measured(stored)
    chart = altair.Chart(_table(rows, (x, metric, "line"))).encode(
        altair.X(f"{x}:Q"), color=altair.Color("line:N", title=None)
    )
    y = altair.Y(f"mean({metric}):Q", scale=altair.Scale(zero=False), title=metric)
    lines = chart.mark_line(point=True).encode(y)
    return lines + chart.mark_errorbar(extent="stdev").encode(altair.Y(f"{metric}:Q", title=metric))


def robustness(stored: Stored, workshop: Workshop) -> Any:  # noqa: ARG001
    """Draw the mean over the first column, and how far its values lie apart; full data as a line.

    Seeds are averaged first: the bars show what the column changes, not what the seed does.
    """
    altair = _altair()
    x, metric, rows = _measured(stored)
    by_place: dict[tuple[str, Any], list[float]] = {}
    for row in rows:
        by_place.setdefault((row["method"], row[x]), []).append(row[metric])
    means = [
        {"method": method, metric: float(np.mean(values))}
        for (method, _), values in by_place.items()
    ]
    methods = altair.Chart(_table([m for m in means if m["method"] != FULL], ("method", metric)))
    y = altair.Y(f"mean({metric}):Q", title=f"{metric}, mean over {x}")
    bars = methods.mark_bar().encode(altair.X("method:N", sort=None), y)
    spread = methods.mark_errorbar(extent="stdev").encode(
        altair.X("method:N", sort=None), altair.Y(f"{metric}:Q", title=f"{metric}, mean over {x}")
    )
    full = altair.Chart(_table([m for m in means if m["method"] == FULL], ("method", metric)))
    return bars + spread + full.mark_rule(strokeDash=[6, 4]).encode(y)


def margin(stored: Stored, workshop: Workshop) -> Any:
    """Draw samples by RS and S_neg, coloured by fate, with the line where both are equal."""
    altair = _altair()
    points = altair.Data(values=by_scores(stored, workshop))
    x = altair.X("rs:Q", title="RS", scale=altair.Scale(zero=False))
    y = altair.Y("s_neg:Q", title="S_neg", scale=altair.Scale(zero=False))
    samples = altair.Chart().mark_point(filled=True, size=12, opacity=0.5)
    line = altair.Chart().transform_aggregate(low="min(rs)", high="max(rs)")
    line = line.transform_fold(["low", "high"], as_=["end", "at"]).mark_line(strokeDash=[6, 4])
    layers = samples.encode(x, y, color=_fate_colour(*FATES)), line.encode(x="at:Q", y="at:Q")
    return altair.layer(*layers, data=points).facet("method:N")


def map_of_a_client(stored: Stored, workshop: Workshop) -> Any:
    """Draw a map of the largest client's embeddings, by fate; diamonds are class centres."""
    altair = _altair()
    shapes = altair.Scale(
        domain=[*FATES, CENTRE], range=["circle", "triangle", "square", "diamond"]
    )
    return (
        altair.Chart(altair.Data(values=on_a_map(stored, workshop)))
        .mark_point(filled=True, opacity=0.7)
        .encode(
            altair.X("x:Q", axis=None, scale=altair.Scale(zero=False)),
            altair.Y("y:Q", axis=None, scale=altair.Scale(zero=False)),
            color=_fate_colour(*FATES, CENTRE),
            shape=altair.Shape("fate:N", title=None, scale=shapes),
            size=altair.condition(f"datum.fate == '{CENTRE}'", altair.value(140), altair.value(16)),
            column="method:N",
        )
    )


def class_breakdown(stored: Stored, workshop: Workshop) -> Any:  # noqa: ARG001
    """Draw how many of each class were kept, anomalous and redundant, a panel a method."""
    rows = [
        {"method": r["method"], "class": c, "fate": fate, "samples": int(count)}
        for r in _first_of_each_method(stored)
        for fate in FATES
        for c, count in enumerate(r["result"]["classes"][fate])
    ]
    return _stacked(rows, "class")


def client_breakdown(stored: Stored, workshop: Workshop) -> Any:  # noqa: ARG001
    """Draw how many of each client were kept, anomalous and redundant, a panel a method."""
    rows = [
        {"method": r["method"], "client": k, "fate": fate, "samples": counts[fate]}
        for r in _first_of_each_method(stored)
        for k, counts in enumerate(r["result"]["clients"])
        for fate in FATES
    ]
    return _stacked(rows, "client")


FIGURES: dict[str, Callable[[Stored, Workshop], Any]] = {
    "curves": curves,
    "robustness": robustness,
    "classes": class_breakdown,
    "clients": client_breakdown,
    "margin": margin,
    "map": map_of_a_client,
}


def draw(stored: Stored, path: Path, workshop: Workshop | None = None) -> None:
    """Write the figure the spec names as SVG; single samples are chosen anew for it."""
    kind = stored.spec.layout.figure or "curves"
    check_name(FIGURES, kind, "[table] figure")
    if not stored.results:
        raise ScopeError("nothing was run yet, so there is nothing to draw")
    try:
        import vl_convert
    except ImportError:
        raise ScopeError("figures need vl-convert; pip install scopefl[report]") from None
    drawing = FIGURES[kind](stored, workshop or Workshop()).to_json()
    write_bytes(path, vl_convert.vegalite_to_svg(drawing).encode())


def _measured(stored: Stored) -> tuple[str, str, Records]:
    """Give the first column, the first metric, and a row for each cell and seed that has it."""
    layout = stored.spec.layout
    if not layout.columns:
        raise ScopeError("this figure needs a column to go along, [table] columns names none")
    x, metric = full_name(stored.spec, layout.columns[0]).rpartition(".")[2], layout.metrics[0]
    scale = 100 if metric in PERCENT else 1
    others = [name.rpartition(".")[2] for name in stored.spec.varied]
    rows = []
    for record in records(stored):
        value = numbers(record["result"], layout.metrics).get(metric)
        line = [f"{record[n]}" if n == "method" else f"{n} {record[n]}" for n in others if n != x]
        if value is not None:
            rows.append({**record, metric: scale * value, "line": ", ".join(line)})
    return x, metric, rows


def _first_of_each_method(stored: Stored) -> Records:
    return list({record["method"]: record for record in reversed(records(stored))}.values())[::-1]


def _stacked(rows: Records, axis: str) -> Any:
    altair = _altair()
    return (
        altair.Chart(_table(rows, ("method", axis, "fate", "samples")))
        .mark_bar()
        .encode(
            altair.X(f"{axis}:O"),
            altair.Y("samples:Q"),
            color=_fate_colour(*FATES),
            column="method:N",
        )
    )


def _fate_colour(*fates: str) -> Any:
    altair = _altair()
    scale = altair.Scale(domain=list(fates), range=[COLOURS[fate] for fate in fates])
    return altair.Color("fate:N", title=None, scale=scale)


def _table(rows: Records, names: tuple[str, ...]) -> Any:
    plain = [{name: _plain(row[name]) for name in names} for row in rows]
    return _altair().Data(values=plain)


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise ScopeError("figures need altair; pip install scopefl[report]") from None
    return altair
