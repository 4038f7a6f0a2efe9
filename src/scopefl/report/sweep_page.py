"""The chart of a sweep: what many settings keep, how balanced it is, and what noise they catch."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import altair as alt

from scopefl.data.files import write_bytes
from scopefl.federation.sweep import Outcome
from scopefl.report.charts import Spec, whole
from scopefl.report.html import render
from scopefl.report.learning import COLOURS

LEGEND = alt.Legend(orient="top", symbolOpacity=1)
SETTINGS = ("rule", "p_l", "p_f", "beta", "gamma", "keep")


def write_sweep(outcomes: Sequence[Outcome], out: Path) -> int:
    """Write one self-contained HTML file with charts and a table; give its size in bytes."""
    rows = [one.row for one in outcomes]
    columns = list(rows[0]) if rows else []
    measures = [name for name in ("imbalance ratio", "caught") if name in columns]
    by = _coloured(rows)
    data = {
        "names": {},
        "sets": {"outcomes": {_field(name): [row[name] for row in rows] for name in columns}},
        "charts": {_field(name): _against_kept(name, columns, by) for name in measures},
    }
    context: dict[str, Any] = {"rows": rows, "columns": columns, "charts": list(data["charts"])}
    page = render("sweep.html", context, data).encode()
    write_bytes(out, page)
    return len(page)


def _field(name: str) -> str:
    return name.replace(" ", "_")


def _coloured(rows: Sequence[dict[str, Any]]) -> str:
    """Name the setting that tells marks apart: p_l, or the last that was varied."""
    varied = [name for name in SETTINGS if len({row.get(name) for row in rows}) > 1]
    return "p_l" if "p_l" in varied or not varied else varied[-1]


def _against_kept(measure: str, columns: Sequence[str], coloured: str) -> Spec:
    share = alt.Axis(format=".0%")
    shown = [name for name in SETTINGS if name in columns]
    chart = (
        alt.Chart(alt.NamedData("outcomes"))
        .mark_point(filled=True, size=70, opacity=0.85)
        .encode(
            color=alt.Color(f"{coloured}:N", scale=alt.Scale(range=COLOURS), legend=LEGEND),
            shape=alt.Shape(f"{coloured}:N", legend=LEGEND),
            x=alt.X("kept_fraction:Q", title="kept fraction", axis=share),
            y=alt.Y(
                f"{_field(measure)}:Q",
                title="share of wrong labels caught" if measure == "caught" else measure,
                axis=share if measure == "caught" else alt.Axis(),
            ),
            tooltip=[
                *(alt.Tooltip(f"{name}:N") for name in shown),
                alt.Tooltip("kept_fraction:Q", title="kept fraction", format=".1%"),
                alt.Tooltip(f"{_field(measure)}:Q", title=measure, format=".3"),
            ],
        )
    )
    return whole(chart, 320, f"{measure} against the kept fraction, one mark a setting.")
