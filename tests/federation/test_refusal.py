"""Nothing is pruned as anomalous on the word of an encoder that reads the classes by chance."""

import pytest
from click.testing import CliRunner

from scopefl import Scores
from scopefl.cli.main import scope
from scopefl.core.fingerprint import fingerprint
from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile, write_scores
from tests.clouds import cloud

CLASSES = tuple("abcdefg")


@pytest.fixture(params=["not at all", "weakly", "well", None])
def verdict(request):
    return request.param


@pytest.fixture
def site(tmp_path, verdict):
    images, prototypes, labels = cloud(n=200)
    found: Scores = score(images, prototypes, labels)
    settings = {} if verdict is None else {"fitness": {"verdict": verdict}}
    mark = fingerprint(CLASSES, {})
    write_scores(ScoresFile.of(found, labels, CLASSES, mark, settings=settings), tmp_path / "s")
    assert run("profile", tmp_path / "s", "-o", tmp_path / "p").exit_code == 0
    assert run("merge", tmp_path / "p", "-o", tmp_path / "policy").exit_code == 0
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(scope, [str(each) for each in arguments])


def select(site, *flags):
    return run("select", site / "s", "--policy", site / "policy", "-o", site / "core", *flags)


RULES = [(), ("--p-l", "auto"), ("--keep", "0.5"), ("--keep", "0.5", "--p-l", "auto")]


@pytest.mark.parametrize("flags", RULES)
def test_pruning_by_anomaly_is_refused_exactly_where_the_verdict_is_not_at_all(
    site, verdict, flags
):
    found = select(site, *flags)
    refused = verdict == "not at all"
    assert found.exit_code == (5 if refused else 0), found.output
    assert (site / "core").exists() != refused
    if refused:
        for way_out in ("scope centroids", "--p-l 0", "--prune-anyway"):
            assert way_out in found.output
        assert len(found.output.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "flags", [("--p-l", "0"), ("--p-l", "0.0"), ("--keep", ".5", "--p-l", "0")]
)
def test_without_anomalies_nothing_is_refused(site, flags):
    found = select(site, *flags)
    assert found.exit_code == 0
    assert "0 anomalous" in found.output


@pytest.mark.parametrize("flags", RULES)
def test_who_insists_is_let_through(site, flags):
    assert select(site, *flags, "--prune-anyway").exit_code == 0


def test_the_paper_s_number_of_anomalies_is_dropped_when_insisted_on(site):
    assert "20 anomalous" in select(site, "--prune-anyway").output


def test_a_p_l_that_is_no_number_is_still_a_mistake(site):
    found = select(site, "--p-l", "much")
    assert found.exit_code == 2
    assert "p_l must be a number" in found.output
