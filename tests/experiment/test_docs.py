"""The reference of experiments names all there is, and what it says of defaults is so."""

from pathlib import Path

import pytest

from scopefl.data.datasets import DATASETS
from scopefl.experiment.division import FLOWER
from scopefl.experiment.figures import FIGURES
from scopefl.experiment.settings import SECTIONS, types_of
from scopefl.experiment.shown import METRICS
from scopefl.methods import METHODS

DOCS = Path(__file__).parents[2] / "docs"
REFERENCE = (DOCS / "reference" / "experiments.md").read_text("utf-8")
GUIDE = (DOCS / "how-to" / "experiments.md").read_text("utf-8")
SETTINGS = [name for kind in SECTIONS.values() for name in types_of(kind)]


@pytest.mark.parametrize("name", [*SETTINGS, *METHODS])
def test_every_setting_and_method_has_its_place_in_the_reference(name):
    assert f"`{name}`" in REFERENCE


def test_every_metric_is_explained_in_the_reference():
    for name, meaning in METRICS.items():
        assert f"| `{name}` | {meaning} |" in REFERENCE


def test_every_data_set_figure_and_partitioner_is_named():
    assert all(f"| `{name}` |" in GUIDE for name in DATASETS)
    assert all(name in REFERENCE for name in (*FIGURES, *FLOWER))
