import pytest

from scopefl.experiment.figures import FIGURES, draw
from scopefl.experiment.results import read_results
from scopefl.experiment.runner import run_spec
from scopefl.experiment.spec_file import parse_spec

pytest.importorskip("altair")
pytest.importorskip("vl_convert")


@pytest.mark.parametrize("kind", FIGURES)
@pytest.mark.parametrize("rates", [[0.1, 0.5], [0.5]])
def test_every_figure_is_drawn_from_results(tmp_path, workshop, kind, rates):
    spec = parse_spec(
        {
            "seeds": 2,
            "partition": {"clients": 3, "alpha": 1.0},
            "training": {"features": 0, "rounds": 2},
            "pruning": {"method": ["random", "scope"], "p_f": rates},
            "table": {"columns": ["p_f"], "figure": kind},
        }
    )
    run_spec(spec, tmp_path, workshop)
    draw(read_results(tmp_path), tmp_path / "figure.svg", workshop)
    svg = (tmp_path / "figure.svg").read_text()
    assert svg.startswith("<svg")
    assert "scope" in svg
