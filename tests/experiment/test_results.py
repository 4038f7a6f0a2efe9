import json

import pytest

from scopefl.errors import ScopeError
from scopefl.experiment.results import FILE, Results, read_results
from scopefl.experiment.spec_file import parse_spec

SPEC = parse_spec({"title": "t", "seeds": 3})


def test_what_was_added_is_read_back(tmp_path):
    first, second, _ = SPEC.runs()
    results = Results(tmp_path, SPEC)
    results.add(first, {"metrics": {"accuracy": 0.5}}, 1.0)
    results.add_failure(second, "NaN")
    stored = read_results(tmp_path)
    assert stored.spec == SPEC
    assert stored.results == {first.key: {"metrics": {"accuracy": 0.5}}}
    assert stored.failures == {second.key: "NaN"}


def test_a_second_session_knows_what_is_done_and_mends_a_failure(tmp_path):
    first, second, _ = SPEC.runs()
    Results(tmp_path, SPEC).add_failure(first, "NaN")
    Results(tmp_path, SPEC).add(second, {}, 1.0)
    again = Results(tmp_path, SPEC)
    assert again.done == {second.key}
    again.add(first, {"metrics": {}}, 1.0)
    assert not read_results(tmp_path).failures


@pytest.mark.parametrize("cut", [1, 7, 40])
def test_a_line_torn_by_a_kill_costs_only_itself(tmp_path, cut):
    first, second, third = SPEC.runs()
    results = Results(tmp_path, SPEC)
    results.add(first, {}, 1.0)
    results.add(second, {}, 1.0)
    file = tmp_path / FILE
    file.write_bytes(file.read_bytes()[:-cut])
    again = Results(tmp_path, SPEC)
    assert first.key in again.done
    again.add(third, {}, 1.0)
    assert {first.key, third.key} <= set(read_results(tmp_path).results)


def test_every_result_names_the_environment_it_ran_in(tmp_path):
    Results(tmp_path, SPEC).add(SPEC.runs()[0], {}, 1.0)
    lines = [json.loads(line) for line in (tmp_path / FILE).read_text().splitlines()]
    environment = next(line for line in lines if line["kind"] == "environment")
    assert lines[-1]["environment"] == environment["id"]
    assert environment["packages"]["numpy"]


def test_a_folder_without_results_is_named(tmp_path):
    with pytest.raises(ScopeError, match="must hold results of `scope run`"):
        read_results(tmp_path)


def test_results_from_before_a_setting_was_there_are_refused_by_its_name(tmp_path):
    Results(tmp_path, SPEC)
    file = tmp_path / FILE
    file.write_text(file.read_text().replace('"training.image_size":[0],', ""))
    with pytest.raises(ScopeError, match=r"has the setting training.image_size, these are older"):
        read_results(tmp_path)
