"""The charts of the page, as Vega-Lite specs without their data: `data` is put in by name."""

from typing import Any

import altair as alt

FATE_NAMES = ["kept", "anomalous", "redundant"]
FATE_COLOURS = ["var(--kept)", "var(--anomalous)", "var(--redundant)"]
FATE_SHAPES = ["circle", "triangle-up", "square"]
NAMED_BARS = 40
"""Up to so many classes or clients, each bar has its name beside it."""
BAR = 22

WHEEL = "wheel![event.shiftKey]"
"""Zooming asks for Shift, so that the page still scrolls over a chart."""
DRAG = "[pointerdown[event.shiftKey], window:pointerup] > window:pointermove!"
MARKING = (
    "[pointerdown[!event.shiftKey && event.pointerType !== 'touch'], window:pointerup]"
    " > window:pointermove!"
)
UNMARKED = "picked === null || picked[datum.key] === true"

Spec = dict[str, Any]

_FATE_COLOUR = alt.Scale(domain=FATE_NAMES, range=FATE_COLOURS)
_LEGEND = alt.Legend(title=None, orient="top", symbolOpacity=1, columnPadding=14)
_TIP_NUMBERS = (
    alt.Tooltip("rs:Q", title="RS", format=".3f"),
    alt.Tooltip("s_neg:Q", title="S_neg", format=".3f"),
    alt.Tooltip("ds:Q", title="DS", format=".3f"),
    alt.Tooltip("anomaly:Q", title="anomaly AS", format=".2f"),
    alt.Tooltip("redundancy:Q", title="redundancy R", format=".2f"),
)
_TIP_NAMES = tuple(alt.Tooltip(f"{name}:N") for name in ("id", "class", "rival", "client", "fate"))


def only(*dimensions: str) -> list[alt.Parameter]:
    """Give the filters that the page sets from outside: `only_class`, `only_client`."""
    return [alt.param(name=f"only_{dimension}", value=None) for dimension in dimensions]


def passes(dimension: str) -> str:
    """Say in Vega's words that a row passes the filter of a dimension."""
    return f"only_{dimension} === null || datum.{dimension} === only_{dimension}"


def marking() -> list[alt.Parameter]:
    """Give what the mouse does in a scatter: drag to mark, Shift and drag or wheel to look."""
    box = alt.BrushConfig(stroke="var(--ink)", fill="var(--ink)", fillOpacity=0.06)
    return [
        alt.selection_interval(name="brush", on=MARKING, zoom=False, translate=False, mark=box),
        alt.selection_interval(bind="scales", name="zoom", on=DRAG, translate=DRAG, zoom=WHEEL),
    ]


def bars(dimension: str, other: str, names: list[str], noun: str) -> Spec:
    """Stack kept, anomalous and redundant samples per class or client, in the given order."""
    named = len(names) <= NAMED_BARS
    place = alt.Scale(domain=names, paddingInner=0.18 if named else 0)
    along = "x" if named else "y"
    across = "y" if named else "x"
    axis = alt.Axis(labelLimit=130, ticks=False, domain=False, title=None)
    silent = alt.Axis(labels=False, ticks=False, title=f"{len(names)} {noun}, largest first")
    group = (alt.Y if named else alt.X)(
        f"{dimension}:N", scale=place, axis=axis if named else silent
    )
    value = (alt.X if named else alt.Y)("sum(count):Q", title="images", stack="zero")
    return whole(
        alt.Chart(alt.NamedData("cells"))
        .mark_bar(cursor="pointer")
        .transform_filter(passes(other))
        .transform_filter(alt.FieldOneOfPredicate(field=dimension, oneOf=names))
        .encode(
            **{across: group, along: value},
            color=alt.Color("fate:N", scale=_FATE_COLOUR, legend=_LEGEND),
            order=alt.Order("fate_order:Q"),
            opacity=alt.condition(passes(dimension), alt.value(1), alt.value(0.25)),
            tooltip=[
                alt.Tooltip(f"{dimension}:N"),
                alt.Tooltip("fate:N"),
                alt.Tooltip("sum(count):Q", title="images", format=","),
            ],
        ),
        BAR * max(len(names), 1) if named else 260,
        f"Images per {dimension}, stacked by fate: kept, anomalous, redundant.",
    )


def tail() -> Spec:
    """Draw class sizes from the largest to the smallest, before and after, on a log scale."""
    sides = alt.Scale(domain=["before", "after"], range=["var(--redundant)", "var(--kept)"])
    base = (
        alt.Chart(alt.NamedData("cells"))
        .transform_filter(passes("client"))
        .transform_calculate(before="datum.count", after="datum.fate === 'kept' ? datum.count : 0")
        .transform_aggregate(before="sum(before)", after="sum(after)", groupby=["class"])
        .transform_fold(["before", "after"], as_=["side", "images"])
        .transform_filter("datum.images > 0")
        .transform_window(
            rank="row_number()",
            sort=[alt.SortField("images", order="descending")],
            groupby=["side"],
        )
        .encode(
            x=alt.X(
                "rank:Q",
                title="class, from the largest to the smallest",
                axis=alt.Axis(tickMinStep=1, format="d", grid=False),
            ),
            y=alt.Y(
                "images:Q",
                scale=alt.Scale(type="log", nice=False, padding=12),
                title="images (log scale)",
                axis=alt.Axis(grid=False),
            ),
            color=alt.Color("side:N", scale=sides, legend=_LEGEND),
        )
    )
    lines = base.mark_line(strokeWidth=2.5).encode(
        strokeDash=alt.StrokeDash(
            "side:N",
            scale=alt.Scale(domain=["before", "after"], range=[[5, 4], [1, 0]]),
            legend=_LEGEND,
        )
    )
    dots = base.mark_point(filled=True, size=36, opacity=1).encode(
        tooltip=[
            alt.Tooltip("class:N"),
            alt.Tooltip("side:N"),
            alt.Tooltip("images:Q", format=","),
            alt.Tooltip("rank:Q"),
        ]
    )
    return whole(
        lines + dots, 260, "Class sizes in falling order before and after selection, log scale."
    )


def boundary(across: tuple[float, float], up: tuple[float, float]) -> Spec:
    """Scatter RS against S_neg, with the line where they are equal and the zone above it."""
    x_scale = alt.Scale(domain=list(across), nice=False, zero=False)
    y_scale = alt.Scale(domain=list(up), nice=False, zero=False)
    # The zone reaches beyond what any zooming out shows: scores are cosines.
    corners = alt.InlineData(values=[{"at": -2, "top": 2}, {"at": 2, "top": 2}])
    edge = alt.Chart(corners).encode(x=alt.X("at:Q", scale=x_scale))
    zone = edge.mark_area(color="var(--anomalous)", opacity=0.08, clip=True).encode(
        y=alt.Y("at:Q", scale=y_scale), y2="top:Q"
    )
    line = edge.mark_line(
        color="var(--anomalous)", strokeDash=[6, 4], strokeWidth=1.5, clip=True
    ).encode(y=alt.Y("at:Q", scale=y_scale))
    words = (
        alt.Chart(alt.InlineData(values=[{"text": "nearer to another class"}]))
        .mark_text(align="left", baseline="top", color="var(--anomalous)", fontSize=12)
        .encode(x=alt.value(10), y=alt.value(10), text="text:N")
    )
    points = _points("points").encode(
        x=alt.X("rs:Q", scale=x_scale, title="RS, nearness to its own class"),
        y=alt.Y("s_neg:Q", scale=y_scale, title="S_neg, nearness to its rival class"),
        tooltip=[*_TIP_NAMES, *_TIP_NUMBERS],
    )
    return whole(
        zone + line + words + points.add_params(*marking()),
        430,
        "Each image by RS and S_neg; the line RS = S_neg and the zone of anomalies above it.",
    )


def neighbourhood(domain: tuple[float, float, float, float], *, after: bool) -> Spec:
    """Map the embeddings: all samples by fate, or what stayed over a shadow of what left."""
    left, right, bottom, top = domain
    x = alt.X("x:Q", axis=None, scale=alt.Scale(domain=[left, right], nice=False, zero=False))
    y = alt.Y("y:Q", axis=None, scale=alt.Scale(domain=[bottom, top], nice=False, zero=False))
    points = _points("map").encode(x=x, y=y, tooltip=[*_TIP_NAMES, *_TIP_NUMBERS])
    if after:
        points = points.transform_filter("datum.fate === 'kept'")
    names = (
        alt.Chart(alt.NamedData("centres"))
        .transform_filter(passes("class"))
        .mark_text(
            fontSize=11,
            fontWeight=600,
            color="var(--ink)",
            stroke="var(--paper)",
            strokeWidth=3,
            strokeOpacity=0.8,
        )
        .encode(x=x, y=y, text="class:N")
    )
    over = names.mark_text(fontSize=11, fontWeight=600, color="var(--ink)")
    words = "after selection: what stayed" if after else "before selection, coloured by fate"
    return whole(
        points.add_params(*marking()) + names + over, 400, f"Map of the embeddings {words}."
    )


def _points(data: str) -> alt.Chart:
    shapes = alt.Scale(domain=FATE_NAMES, range=FATE_SHAPES)
    chart: alt.Chart = (
        alt.Chart(alt.NamedData(data))
        .transform_filter(passes("class"))
        .transform_filter(passes("client"))
        .mark_point(filled=True, size=26, clip=True, strokeWidth=0)
        .encode(
            color=alt.Color("fate:N", scale=_FATE_COLOUR, legend=_LEGEND),
            shape=alt.Shape("fate:N", scale=shapes, legend=_LEGEND),
            opacity=alt.condition(UNMARKED, alt.value(0.7), alt.value(0.07)),
        )
    )
    return chart


def whole(chart: alt.Chart | alt.LayerChart, height: int, description: str) -> Spec:
    """Give a chart the page's width, filters and style, as a spec."""
    picked = alt.param(name="picked", value=None)
    complete = chart.add_params(*only("class", "client"), picked).properties(
        width="container",
        height=height,
        description=description,
        autosize=alt.AutoSizeParams(type="fit-x", contains="padding"),
    )
    spec: Spec = complete.to_dict(context={"pre_transform": False})
    return {**spec, "config": STYLE}


STYLE: Spec = {
    "background": "transparent",
    "font": "system-ui, -apple-system, Segoe UI, Roboto, Noto Sans, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": "var(--soft)",
        "titleColor": "var(--soft)",
        "titleFontWeight": "normal",
        "titlePadding": 8,
        "gridColor": "var(--line)",
        "domainColor": "var(--line)",
        "tickColor": "var(--line)",
        "labelFontSize": 11,
        "titleFontSize": 12,
        "tickCount": 5,
        "labelFlush": False,
        "labelSeparation": 6,
    },
    "legend": {"labelColor": "var(--ink)", "titleColor": "var(--soft)", "labelFontSize": 12},
}
