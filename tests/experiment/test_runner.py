from dataclasses import replace

import pytest

from scopefl.errors import ScopeError
from scopefl.experiment.results import FILE, read_results
from scopefl.experiment.runner import run_spec
from scopefl.experiment.spec_file import parse_spec
from tests.full_disk import full_disk

SPEC = parse_spec(
    {
        "seeds": 2,
        "partition": {"clients": 3, "alpha": 1.0},
        "training": {"features": 0, "rounds": 2},
        "pruning": {"method": ["random", "scope"]},
    }
)


class KilledError(Exception):
    pass


def test_a_run_killed_on_its_way_goes_on_to_the_same_results(tmp_path, workshop):
    run_spec(SPEC, tmp_path / "whole", workshop)

    def kill(progress):
        if progress.done == 2:
            raise KilledError

    with pytest.raises(KilledError):
        run_spec(SPEC, tmp_path / "killed", workshop, kill)
    seen = []
    run_spec(SPEC, tmp_path / "killed", workshop, seen.append)
    assert [each.done for each in seen] == [2, 3, 4]
    whole, killed = (read_results(tmp_path / name).results for name in ("whole", "killed"))
    assert {k: r["metrics"] for k, r in whole.items()} == {
        k: r["metrics"] for k, r in killed.items()
    }


def test_what_was_run_is_not_run_again_and_the_file_only_grows(tmp_path, workshop):
    run_spec(SPEC, tmp_path, workshop)
    before = (tmp_path / FILE).read_bytes()
    more = replace(SPEC, seeds=3)
    seen = []
    run_spec(more, tmp_path, workshop, seen.append)
    assert seen[0].done == 4
    assert (tmp_path / FILE).read_bytes().startswith(before)
    assert len(read_results(tmp_path).results) == 6


def test_a_full_disk_stops_the_runs_in_a_sentence_and_those_done_stay(tmp_path, workshop):
    run_spec(replace(SPEC, seeds=1), tmp_path, workshop)
    before = read_results(tmp_path).results
    room = (tmp_path / FILE).stat().st_size + 6000
    with full_disk(room), pytest.raises(ScopeError, match="could not be written .* what is in it"):
        run_spec(replace(SPEC, seeds=4), tmp_path, workshop)
    assert before.items() <= read_results(tmp_path).results.items()
    assert run_spec(replace(SPEC, seeds=4), tmp_path, workshop).done == 8


def test_a_run_that_fails_is_named_and_the_others_are_kept(tmp_path, workshop):
    spec = parse_spec(
        {
            "seeds": 1,
            "partition": {"clients": 3, "alpha": 1.0},
            "training": {"features": 0, "rounds": 20, "lr": [0.1, 1e30], "weight_decay": 1.0},
            "pruning": {"method": "random"},
        }
    )
    progress = run_spec(spec, tmp_path, workshop)
    stored = read_results(tmp_path)
    assert (progress.done, progress.failed) == (1, 1)
    assert len(stored.results) == 1
    assert "NaN" in next(iter(stored.failures.values()))


def test_a_partition_that_cannot_be_is_a_sentence(tmp_path, workshop):
    spec = replace(SPEC, values={**SPEC.values, "partition.clients": (5000,)})
    assert run_spec(spec, tmp_path, workshop).failed == 4
    assert "5000 clients" in next(iter(read_results(tmp_path).failures.values()))


def test_a_data_set_that_is_not_there_stops_at_once(tmp_path, workshop):
    spec = parse_spec({"data": {"name": "cifar100", "folder": str(tmp_path)}})
    with pytest.raises(ScopeError, match="cifar|CIFAR"):
        run_spec(spec, tmp_path, workshop)


def test_where_one_data_set_of_several_is_not_there_the_others_are_run(tmp_path, workshop):
    spec = parse_spec(
        {
            "seeds": 2,
            "partition": {"clients": 3, "alpha": 1.0},
            "training": {"features": 0, "rounds": 2},
            "pruning": {"method": "random"},
            "case": [
                {"name": "here"},
                {"name": "not here", "data": {"name": "cifar100", "folder": str(tmp_path)}},
            ],
        }
    )
    progress = run_spec(spec, tmp_path, workshop)
    assert (progress.done, progress.failed) == (2, 2)
    assert "cifar-100-binary.tar.gz must lie in" in str(read_results(tmp_path).failures)
