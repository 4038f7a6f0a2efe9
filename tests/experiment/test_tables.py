import pytest

from scopefl.errors import ScopeError
from scopefl.experiment.printing import latex, markdown
from scopefl.experiment.results import Results, read_results
from scopefl.experiment.spec_file import parse_spec
from scopefl.experiment.tables import check_layout, tables

pytest.importorskip("scipy")

DOCUMENT = {
    "title": "t",
    "seeds": 4,
    "pruning": {"method": ["random", "el2n", "budget", "full"], "p_f": [0.1, 0.5]},
    "table": {"columns": ["p_f"]},
}
LEVEL = {"random": 0.50, "el2n": 0.55, "budget": 0.70, "full": 0.6}


def result(accuracy):
    cost = {"seconds": 1.0, "flops": 0, "peak_bytes": 0, "up": 5, "down": 7}
    metrics = {"accuracy": accuracy, "kept": 0.25, "imbalance_after": 3.0}
    curve = [[1, 100, accuracy / 2], [2, 200, accuracy]]
    return {"metrics": metrics, "choosing": cost, "training": cost, "curve": curve}


def stored(tmp_path, leave_out=lambda run: False, document=DOCUMENT):
    spec = parse_spec(document)
    results = Results(tmp_path, spec)
    for run in spec.runs():
        if not leave_out(run):
            wobble = [0.0, 0.01, 0.03, 0.02][run.seed] * (1 + run.pruning.p_f)
            results.add(
                run, result(LEVEL[run.pruning.method] + wobble * len(run.pruning.method)), 1
            )
    return read_results(tmp_path)


def rows_of(table):
    return {row[0]: row[1:] for row in table.rows}


def test_cells_show_mean_and_deviation_and_full_in_every_column(tmp_path):
    accuracy = tables(stored(tmp_path))[0]
    assert accuracy.header == ("method", "0.1", "0.5")
    assert rows_of(accuracy)["full"][0] == rows_of(accuracy)["full"][1]
    assert rows_of(accuracy)["random"][0] == "59.9 ± 8.5"


def test_what_was_kept_and_its_imbalance_stand_beside_every_metric(tmp_path):
    kept = tables(stored(tmp_path))[1]
    assert "kept" in kept.title
    assert rows_of(kept)["random"] == ("25.0 / 3", "25.0 / 3")


def test_cells_that_were_not_run_say_so(tmp_path):
    missing = stored(tmp_path, lambda run: run.pruning.method == "el2n")
    assert rows_of(tables(missing)[0])["el2n"] == ("not run", "not run")
    part = stored(tmp_path / "part", lambda run: run.seed == 3)
    assert rows_of(tables(part)[0])["random"][0].endswith("(3 of 4 seeds)")


def test_nothing_run_is_a_table_of_cells_not_run(tmp_path):
    for table in tables(stored(tmp_path, lambda run: True)):
        assert all(cell == "not run" for row in table.rows for cell in row[1:])


def test_ours_is_tested_against_random_the_best_baseline_and_the_full_data(tmp_path):
    tested = tables(stored(tmp_path))[-1]
    pairs = {(row[0], row[1], row[2]) for row in tested.rows}
    assert ("budget", "random", "0.1") in pairs
    assert ("budget", "el2n", "all") in pairs
    assert ("budget", "full", "0.5") in pairs
    assert {row[0] for row in tested.rows} == {"budget"}
    assert not any(row[0] == row[1] for row in tested.rows)
    verdict = {row[:3]: row[-1] for row in tested.rows}
    assert verdict["budget", "random", "all"] == "higher"


def test_settings_in_neither_rows_nor_columns_give_a_table_each(tmp_path):
    document = {**DOCUMENT, "partition": {"noise": [0.0, 0.3]}}
    titles = [table.title for table in tables(stored(tmp_path, document=document))]
    assert sum("noise 0.3" in title for title in titles) == len(titles) / 2


def test_costs_can_be_shown_as_metrics(tmp_path):
    document = {**DOCUMENT, "table": {"columns": ["p_f"], "metrics": ["choosing_up"]}}
    assert rows_of(tables(stored(tmp_path, document=document))[0])["full"] == ("5 ± 0", "5 ± 0")


def test_both_forms_hold_every_cell(tmp_path):
    for table in tables(stored(tmp_path)):
        for form in (markdown, latex):
            text = form(table)
            assert all(row[0] in text for row in table.rows)
        assert markdown(table).count("\n") == len(table.rows) + 3


def test_a_cell_is_averaged_seed_by_seed_and_only_where_all_was_run(tmp_path):
    document = {**DOCUMENT, "table": {"columns": [], "average": ["p_f"]}}
    averaged = rows_of(tables(stored(tmp_path, document=document))[0])
    assert averaged["random"] == ("61.7 ± 10.1",)
    missing = stored(tmp_path / "b", lambda run: (run.seed, run.pruning.p_f) == (0, 0.5), document)
    assert rows_of(tables(missing)[0])["random"][0].endswith("(3 of 4 seeds)")


def test_a_metric_a_run_does_not_have_is_not_called_not_run(tmp_path):
    document = {**DOCUMENT, "table": {"columns": ["p_f"], "metrics": ["anomaly_recall"]}}
    assert rows_of(tables(stored(tmp_path, document=document))[0])["random"] == ("n/a", "n/a")


def test_rounds_and_samples_to_an_accuracy_are_read_off_the_curve(tmp_path):
    metrics = ["rounds_to_50", "samples_to_55.5"]
    document = {**DOCUMENT, "table": {"columns": ["p_f"], "metrics": metrics}}
    rounds, samples = tables(stored(tmp_path, document=document))[:2]
    assert rows_of(rounds)["random"] == ("2 ± 0", "2 ± 0")
    assert rows_of(samples)["random"][0] == "200 ± 0 (in 3 of 4 runs)"


def test_a_metric_nobody_measures_is_refused():
    for metric, near in (("acuracy", "accuracy"), ("choosing_secs", "choosing_seconds")):
        with pytest.raises(ScopeError, match=f"has no setting '{metric}'; did you mean '{near}'"):
            check_layout(parse_spec({"table": {"metrics": [metric]}}))
    check_layout(parse_spec({"table": {"metrics": ["rounds_to_60", "choosing_message_up"]}}))
