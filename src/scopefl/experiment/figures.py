"""Results as figures: curves over a setting, and what became of each class and each client."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from scopefl.data.files import write_bytes
from scopefl.errors import ScopeError
from scopefl.experiment.results import Stored
from scopefl.experiment.settings import check_name
from scopefl.experiment.shown import PERCENT
from scopefl.experiment.tables import full_name

Records = list[dict[str, Any]]
FATES = ("kept", "anomalous", "redundant")


def records(stored: Stored) -> Records:
    """Give a record a cell and seed: every varied setting, and every number measured."""
    spec = stored.spec
    found = []
    for values, run in spec.cells():
        result = stored.results.get(run.key)
        if result is not None:
            varied = {name.rpartition(".")[2]: values[name] for name in spec.varied}
            method = {"method": values["pruning.method"], "seed": run.seed}
            found.append(varied | method | {"result": result})
    return found


def curves(stored: Stored) -> Any:
    """Draw the first metric over the first column, a line a method with its standard deviation."""
    altair, layout = _altair(), stored.spec.layout
    x, metric = full_name(stored.spec, layout.columns[0]).rpartition(".")[2], layout.metrics[0]
    scale = 100 if metric in PERCENT else 1
    rows = [
        {**record, metric: scale * record["result"]["metrics"][metric]}
        for record in records(stored)
        if record["result"]["metrics"].get(metric) is not None
    ]
    chart = altair.Chart(_table(rows, (x, metric, "method"))).encode(
        altair.X(f"{x}:Q"), color="method:N"
    )
    y = altair.Y(f"mean({metric}):Q", scale=altair.Scale(zero=False), title=metric)
    lines = chart.mark_line(point=True).encode(y)
    return lines + chart.mark_errorbar(extent="stdev").encode(altair.Y(f"{metric}:Q", title=metric))


def class_breakdown(stored: Stored) -> Any:
    """Draw how many of each class were kept, anomalous and redundant, a panel a method."""
    rows = [
        {"method": r["method"], "class": c, "fate": fate, "samples": int(count)}
        for r in _first_of_each_method(stored)
        for fate in FATES
        for c, count in enumerate(r["result"]["classes"][fate])
    ]
    return _stacked(rows, "class")


def client_breakdown(stored: Stored) -> Any:
    """Draw how many of each client were kept, anomalous and redundant, a panel a method."""
    rows = [
        {"method": r["method"], "client": k, "fate": fate, "samples": counts[fate]}
        for r in _first_of_each_method(stored)
        for k, counts in enumerate(r["result"]["clients"])
        for fate in FATES
    ]
    return _stacked(rows, "client")


FIGURES: dict[str, Callable[[Stored], Any]] = {
    "curves": curves,
    "classes": class_breakdown,
    "clients": client_breakdown,
}


def draw(stored: Stored, path: Path) -> None:
    """Write the figure the spec names as SVG."""
    kind = stored.spec.layout.figure or "curves"
    check_name(FIGURES, kind, "[table] figure")
    if not stored.results:
        raise ScopeError("nothing was run yet, so there is nothing to draw")
    try:
        import vl_convert
    except ImportError:
        raise ScopeError("figures need vl-convert; pip install scopefl[report]") from None
    drawing = FIGURES[kind](stored).to_json()
    write_bytes(path, vl_convert.vegalite_to_svg(drawing).encode())


def _first_of_each_method(stored: Stored) -> Records:
    return list({record["method"]: record for record in reversed(records(stored))}.values())[::-1]


def _stacked(rows: Records, axis: str) -> Any:
    altair = _altair()
    return (
        altair.Chart(_table(rows, ("method", axis, "fate", "samples")))
        .mark_bar()
        .encode(altair.X(f"{axis}:O"), altair.Y("samples:Q"), color="fate:N", column="method:N")
    )


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
