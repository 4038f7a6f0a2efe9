"""The section on training: a line a curve, and the numbers without JavaScript."""

from collections.abc import Callable
from typing import Any

from scopefl.report.page import report
from scopefl.train.curves import Curve

CURVES = [
    Curve("everything", 400, (1, 2, 3), (0.2, 0.4, 0.6)),
    Curve("<b>rule</b>", 100, (1, 2, 3), (0.3, 0.5, 0.7)),
]


def test_every_evaluated_round_is_drawn(
    played: Callable[..., Any], opened: Callable[..., Any]
) -> None:
    page = opened(report(played().sites, curves=CURVES))
    assert page.marks("learning") == 6
    lines = page.page.locator('[data-chart="learning"] .mark-line path')
    assert lines.count() == 2
    assert page.complaints == []
    assert len(page.requests) == 1, "nothing but the page itself is asked for"


def test_the_table_holds_the_curves_with_their_names_escaped(played: Callable[..., Any]) -> None:
    html = report(played().sites, curves=CURVES)
    assert "&lt;b&gt;rule&lt;/b&gt;" in html
    assert "<b>rule</b>" not in html
    assert "50.0\N{NO-BREAK SPACE}%" in html


def test_without_curves_there_is_no_section(played: Callable[..., Any]) -> None:
    assert 'id="learning"' not in report(played().sites)
