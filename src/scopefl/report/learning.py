"""The page's section on training: accuracy round by round, on all images and on coresets."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from scopefl.report.charts import Spec, whole
from scopefl.train.curves import Curve

COLOURS = ["#7a8791", "#0072b2", "#56b4e9", "#d55e00", "#e69f00", "#009e73", "#cc79a7"]
"""Told apart by colour-blind people, on light and dark paper."""
DASHES = [[1, 0], [6, 3], [2, 3]]
MOST_CURVES = 21


def chart(curves: Sequence[Curve]) -> Spec:
    """Draw a line a training over `learning`, the rows of `points`."""
    names = [curve.name for curve in curves]
    colours = [COLOURS[i % len(COLOURS)] for i in range(len(names))]
    dashes = [DASHES[i // len(COLOURS) % len(DASHES)] for i in range(len(names))]
    legend = alt.Legend(title=None, orient="top", columns=1, symbolType="stroke", labelLimit=400)
    line = (
        alt.Chart(alt.NamedData("learning"))
        .mark_line(strokeWidth=2.5)
        .encode(
            x=alt.X("round:Q", title="round", axis=alt.Axis(grid=False, format="d")),
            y=alt.Y(
                "accuracy:Q",
                title="accuracy on test images",
                scale=alt.Scale(zero=False),
                axis=alt.Axis(format=".0%"),
            ),
            color=alt.Color("name:N", scale=alt.Scale(domain=names, range=colours), legend=legend),
            strokeDash=alt.StrokeDash(
                "name:N", scale=alt.Scale(domain=names, range=dashes), legend=legend
            ),
        )
    )
    dots = line.mark_point(filled=True, size=22, opacity=1).encode(
        tooltip=[
            alt.Tooltip("name:N", title="trained on"),
            alt.Tooltip("round:Q"),
            alt.Tooltip("accuracy:Q", format=".1%"),
        ]
    )
    return whole(line + dots, 320, "Accuracy on test images by round, a line a training.")


def points(curves: Sequence[Curve]) -> dict[str, list[Any]]:
    """Give every point of the curves, column by column."""
    rows = [
        (curve.name, number, round(accuracy, 4))
        for curve in curves
        for number, accuracy in zip(curve.rounds, curve.accuracy, strict=True)
    ]
    return {
        column: [row[place] for row in rows]
        for place, column in enumerate(("name", "round", "accuracy"))
    }
