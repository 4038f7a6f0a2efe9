"""The page, opened in a real browser."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scopefl.federation.by_file import Rule
from scopefl.federation.sweep import settings, sweep
from scopefl.report.page import report
from scopefl.report.sweep_page import write_sweep
from scopefl.vision.fitness import fitness

pytestmark = pytest.mark.slow
NAMES = ("cat", "dog", "<script>alert(1)</script>", "珠光体")


@pytest.fixture(scope="module")
def made(played: Any) -> Any:
    round_ = played()
    sites = [
        replace(
            site, pixels=lambda name, _path: np.full((40, 40, 3), int(name[:5]) % 256, np.uint8)
        )
        for site in round_.sites
    ]
    return round_, report(sites, agreement=round_.agreement)


def outside(urls: list[str]) -> list[str]:
    return [url for url in urls if not url.startswith(("file:", "data:"))]


def counted(round_: Any) -> dict[str, int]:
    total: dict[str, int] = {}
    for site in round_.sites:
        for fate, count in site.coreset.fates.items():
            total[fate] = total.get(fate, 0) + count
    return total


def test_the_page_draws_every_chart_without_a_complaint_or_a_request(made: Any, opened: Any):
    round_, html = made
    shown = opened(html)
    assert shown.complaints == []
    assert outside(shown.requests) == []
    assert shown.page.evaluate("document.documentElement.dataset.drawn") == "6"
    assert shown.marks("boundary") == 400
    assert shown.marks("map-before") == 400
    assert shown.marks("map-after") == counted(round_)["kept"]


WIDTHS = "bars => bars.map(bar => [bar.ariaLabel, bar.getBoundingClientRect().width])"


def test_the_decision_line_stands_where_rs_equals_s_neg(made: Any, opened: Any):
    shown = opened(made[1])
    chart = shown.page.locator('[data-chart="boundary"]')
    assert chart.locator("text", has_text="nearer to another class").is_visible()
    assert chart.locator(".mark-area.role-mark path").count() == 1
    line = chart.locator(".mark-line.role-mark path").get_attribute("d")
    ends = [tuple(map(float, xy.split(","))) for xy in re.findall(r"[-\d.]+,[-\d.]+", line)]
    points = chart.locator(".mark-symbol.role-mark path").evaluate_all(
        "marks => marks.map(mark => [mark.getAttribute('transform'), mark.ariaLabel])"
    )
    (x0, y0), (x1, y1) = ends
    for transform, label in points:
        x, y = map(float, re.findall(r"-?[\d.]+", transform))
        rs, s_neg = (number(label_part(label, name)) for name in ("RS", "S_neg"))
        if abs(rs - s_neg) > 0.01:
            on_line = y0 + (x - x0) * (y1 - y0) / (x1 - x0)
            assert (y < on_line) == (s_neg > rs)


def number(text: str) -> float:
    return float(text.replace("\u2212", "-"))


def test_bars_are_as_long_as_the_counts(made: Any, opened: Any):
    shown = opened(made[1])
    bars = shown.page.locator('[data-chart="clients"] .mark-rect.role-mark path')
    drawn = {
        (label_part(label, "client"), label_part(label, "fate")): (
            int(label_part(label, "images").replace(",", "")),
            width,
        )
        for label, width in bars.evaluate_all(WIDTHS)
    }
    for number, site in enumerate(made[0].sites):
        for fate in ("kept", "anomalous", "redundant"):
            assert drawn[f"site {number}", fate][0] == site.coreset.fates[fate]
    scale = [width / count for count, width in drawn.values() if count > 10]
    assert max(scale) / min(scale) < 1.1


def label_part(label: str, name: str) -> str:
    return re.search(rf"(?:^|; ){name}: ([^;]+)", label)[1]


def test_the_class_filter_reaches_charts_tables_and_galleries(made: Any, opened: Any):
    round_, html = made
    shown = opened(html)
    shown.page.select_option('select[data-filter="class"]', label="dog")
    shown.settle()
    dogs = sum(
        label == "dog" for site in round_.sites for label in site.coreset.table["label"].to_pylist()
    )
    assert shown.marks("boundary") == dogs
    assert shown.page.locator("#status").inner_text() == "Showing dog"
    rows = shown.page.locator("#classes tbody tr:visible th").all_inner_texts()
    assert rows == ["dog"]
    labels = shown.page.locator(".gallery li:visible .label b").all_inner_texts()
    assert labels
    assert set(labels) == {"dog"}
    shown.page.keyboard.press("Escape")
    shown.settle()
    assert shown.marks("boundary") == 400


def test_a_click_on_a_bar_filters_everything_by_its_client(made: Any, opened: Any):
    round_, html = made
    shown = opened(html)
    bar = shown.page.locator('[data-chart="clients"] .mark-rect.role-mark path').first
    client = label_part(bar.get_attribute("aria-label"), "client")
    bar.click()
    shown.settle()
    number = int(client.removeprefix("site "))
    assert shown.page.locator("#status").inner_text() == f"Showing {client}"
    assert shown.marks("boundary") == round_.sites[number].coreset.table.num_rows


OPAQUE = "marks => marks.map(mark => Number(mark.getAttribute('opacity')))"


def test_marks_dragged_over_in_the_scatter_stand_out_on_the_maps(made: Any, opened: Any):
    shown = opened(made[1])
    shown.page.evaluate("document.getElementById('boundary').scrollIntoView()")
    box = shown.page.locator('[data-chart="boundary"] svg').bounding_box()
    middle = box["x"] + box["width"] / 2
    shown.page.mouse.move(middle, box["y"] + 50)
    shown.page.mouse.down()
    shown.page.mouse.move(middle - 40, box["y"] + 150)
    shown.page.mouse.move(box["x"] + 60, box["y"] + box["height"] - 60)
    shown.page.mouse.up()
    shown.page.locator("#status", has_text="marked").wait_for()
    shown.settle()
    marked = int(shown.page.locator("#status").inner_text().split(";")[1].split()[0])
    assert 0 < marked < 400
    for chart in ("boundary", "map-before"):
        marks = shown.page.locator(f'[data-chart="{chart}"] .mark-symbol.role-mark path')
        assert sum(opacity > 0.5 for opacity in marks.evaluate_all(OPAQUE)) == marked
    shown.page.keyboard.press("Escape")
    shown.settle()
    assert shown.page.locator("#status").inner_text() == "Showing everything"
    marks = shown.page.locator('[data-chart="map-before"] .mark-symbol.role-mark path')
    assert min(marks.evaluate_all(OPAQUE)) > 0.5


def test_pictures_come_before_numbers(made: Any, opened: Any):
    shown = opened(made[1])
    for fate in ("anomalous", "redundant"):
        pictures = shown.page.locator(f"#kept .row.{fate} img")
        assert pictures.count() == 5
        widths = pictures.evaluate_all("images => images.map(image => image.naturalWidth)")
        assert set(widths) == {40}


def test_hostile_names_are_only_text(made: Any, opened: Any):
    shown = opened(made[1])
    assert shown.complaints == []
    first_cells = shown.page.locator("#classes tbody th").all_inner_texts()
    assert set(first_cells) == {"cat", "dog", "<script>alert(1)</script>", "珠光体"}
    shown.page.locator('[data-chart="classes"] path[aria-label*="alert(1)"]').first.hover()
    tip = shown.page.wait_for_selector("#vg-tooltip-element.visible")
    assert "<script>alert(1)</script>" in tip.inner_text()
    assert shown.complaints == []
    assert shown.page.locator("script").count() == 3


def test_every_control_is_reached_by_the_keyboard(made: Any, opened: Any):
    shown = opened(made[1])
    seen = set()
    for _ in range(40):
        shown.page.keyboard.press("Tab")
        seen.add(
            shown.page.evaluate(
                "document.activeElement.dataset.filter || document.activeElement.className ||"
                " document.activeElement.getAttribute('href') || document.activeElement.tagName"
            )
        )
    assert {"skip", "#classes", "class", "client", "SUMMARY", "BUTTON", "scroll"} <= seen


def test_columns_sort_by_number(made: Any, opened: Any):
    shown = opened(made[1])
    heading = shown.page.locator("#classes thead button", has_text="anomalous")
    cells = shown.page.locator("#classes tbody tr td:nth-child(4)")
    heading.click()
    falling = [int(text) for text in cells.all_inner_texts()]
    heading.click()
    rising = [int(text) for text in cells.all_inner_texts()]
    assert falling == sorted(falling, reverse=True)
    assert rising == sorted(falling)


def test_nothing_spills_over_a_phone(made: Any, opened: Any):
    shown = opened(made[1], viewport={"width": 360, "height": 780})
    assert shown.page.evaluate("document.documentElement.scrollWidth") == 360
    assert shown.marks("boundary") == 400


def test_without_javascript_the_tables_still_tell_everything(made: Any, opened: Any):
    round_, html = made
    shown = opened(html, java_script_enabled=False)
    text = shown.page.locator("#kept h1").inner_text()
    assert f"{counted(round_)['kept']} of 400 images" in text
    assert shown.page.locator("#classes tbody tr:visible").count() == 4
    assert shown.page.locator("#clients tbody tr:visible").count() == 2
    assert shown.page.locator("#anomalies li:visible").count() > 12
    assert shown.page.locator("noscript").count() == 1


def test_print_shows_the_sections_and_not_the_controls(made: Any, opened: Any):
    shown = opened(made[1])
    shown.page.emulate_media(media="print")
    assert not shown.page.locator(".filters").is_visible()
    assert shown.page.locator("#provenance pre").is_visible()
    assert shown.page.pdf().startswith(b"%PDF")


def test_thumbnails_are_pictures_the_browser_can_show(made: Any, opened: Any):
    shown = opened(made[1])
    widths = shown.page.locator("#anomalies img:visible").evaluate_all(
        "images => images.map(image => image.naturalWidth)"
    )
    assert len(widths) == 12
    assert set(widths) == {40}


def test_an_encoder_that_does_not_fit_is_said_first(played: Any, opened: Any):
    scores, labels = played(60).files[0].scores, played(60).files[0].labels
    measured = fitness(scores, labels, scores, labels, NAMES)
    insisting = Rule(prune_anyway=True)
    sites = played(60, rule=insisting, settings={"fitness": measured.settings}).sites
    shown = opened(report([replace(site, embeddings=None) for site in sites]))
    first = shown.page.locator("main > *").first
    assert first.get_attribute("role") == "alert"
    assert measured.sentence in first.inner_text()
    cells = shown.page.locator("#fitness tbody tr").first.locator("td").all_inner_texts()
    row = measured.classes[0]
    assert cells[:4] == [f"{row.samples}", f"{row.recall:.3f}", f"{row.margin:.3f}", "0.500"]


def test_shift_and_wheel_zoom_the_scatter_and_the_wheel_alone_does_not(made: Any, opened: Any):
    shown = opened(made[1])
    shown.page.locator("#boundary").scroll_into_view_if_needed()
    box = shown.page.locator('[data-chart="boundary"] svg').bounding_box()
    ticks = shown.page.locator('[data-chart="boundary"] .role-axis-label text')
    before = ticks.all_inner_texts()
    shown.page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    shown.page.keyboard.down("Shift")
    shown.page.mouse.wheel(0, -600)
    shown.page.keyboard.up("Shift")
    shown.settle()
    assert ticks.all_inner_texts() != before


def test_without_images_the_galleries_say_how_to_show_them(played: Any):
    html = report([replace(site, embeddings=None) for site in played(60).sites])
    assert "No images were given:" in html
    assert "no picture" in html
    assert "image not found" not in html


def test_a_sweep_draws_one_mark_a_setting(played: Any, opened: Any, tmp_path: Path):
    round_ = played(200, clients=1)
    tried = settings(p_l=("0", "0.1", "0.2"), p_f=("0.3", "0.5"))
    truth = round_.sites[0].truth
    outcomes = list(sweep(round_.files[0], round_.agreement, tried, truth=truth))
    write_sweep(outcomes, tmp_path / "sweep.html")
    shown = opened((tmp_path / "sweep.html").read_text("utf-8"))
    assert shown.complaints == []
    assert outside(shown.requests) == []
    assert shown.marks("imbalance_ratio") == 6
    assert shown.marks("caught") == 6
    assert shown.page.locator("tbody tr").count() == 6
