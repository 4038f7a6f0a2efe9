"""The page about collections of unusual shapes: none, one class, many classes, many clients."""

from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scopefl.report.collection import Site
from scopefl.report.page import report

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "shape",
    [
        {"n": 3000, "classes": [f"class {c}" for c in range(1000)]},
        {"n": 60, "clients": 1},
        {"n": 300, "clients": 300},
    ],
    ids=["1000 classes", "one client", "300 clients"],
)
def test_unusual_shapes_are_drawn(played: Any, opened: Any, shape: Any):
    sites = [replace(site, embeddings=None) for site in played(**shape).sites]
    shown = opened(report(sites))
    assert shown.complaints == []
    assert shown.page.evaluate("document.documentElement.dataset.drawn") == "4"
    assert shown.marks("classes") > 3


def test_an_empty_coreset_still_makes_a_page(played: Any, opened: Any):
    site = played(20).sites[0]
    empty = replace(site.coreset, table=site.coreset.table.slice(0, 0))
    shown = opened(report([Site(empty)]))
    assert shown.complaints == []
    assert "0 of 0 images" in shown.page.locator("h1").inner_text()
    assert "no scored image" in shown.page.locator("#kept .prose").inner_text()


def test_one_class_present_is_drawn(played: Any, opened: Any):
    site = played(200).sites[0]
    cats = site.coreset.table.filter(pa.compute.equal(site.coreset.table["label"], "cat"))
    shown = opened(report([Site(replace(site.coreset, table=cats))]))
    assert shown.complaints == []
    assert shown.marks("boundary") == cats.num_rows
    assert shown.page.locator("[data-filter=class] option").count() == 2


def test_fifty_thousand_samples_stay_below_four_megabytes(played: Any):
    round_ = played(50_000, classes=[f"class {c}" for c in range(100)])
    noise = np.random.default_rng(0).integers(0, 255, (96, 96, 3), np.uint8)
    sites = [replace(site, embeddings=None, pixels=lambda *_: noise) for site in round_.sites]
    assert len(report(sites, agreement=round_.agreement).encode()) < 4_000_000


@pytest.mark.nightly
def test_ten_thousand_clients_are_drawn_with_the_small_ones_pooled(played: Any, opened: Any):
    round_ = played(30_000, clients=10_000)
    sites = [replace(site, embeddings=None) for site in round_.sites]
    shown = opened(report(sites))
    assert shown.complaints == []
    assert shown.page.locator("[data-filter=client] option").last.inner_text() == (
        "9,800 smaller clients"
    )
    bars = shown.page.locator('[data-chart="clients"] .mark-rect.role-mark path')
    labels = bars.evaluate_all("marks => marks.map(mark => mark.ariaLabel)")
    assert labels
    assert not any("smaller clients" in label for label in labels)
    assert "The 1,000 largest of" in shown.page.locator("#clients").inner_text()
