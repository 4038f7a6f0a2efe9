import json
from pathlib import Path

import pytest

from scopefl.errors import ScopeError
from scopefl.experiment.figures import FIGURES
from scopefl.experiment.settings import SECTIONS, types_of
from scopefl.experiment.spec import Spec
from scopefl.experiment.spec_file import parse_spec, read_spec, with_seeds
from scopefl.experiment.tables import check_layout

SPECS = sorted((Path(__file__).parents[2] / "experiments").glob("*.toml"))

SMALL = {
    "title": "small",
    "seeds": 2,
    "pruning": {"method": ["full", "random", "scope"], "p_f": [0.1, 0.5]},
    "presets": {"laptop": {"training": {"rounds": 3}, "seeds": 1}},
}


@pytest.mark.parametrize("path", SPECS, ids=lambda path: path.stem)
@pytest.mark.parametrize("preset", ["paper", "laptop"])
def test_every_spec_of_the_project_reads(path, preset):
    spec = read_spec(path, preset)
    check_layout(spec)
    assert spec.runs()
    if preset == "laptop":
        assert spec.seeds >= 5
        runs = spec.runs()
        assert {run.training.model for run in runs} <= {"probe", "cnn"}
        assert {run.data.name for run in runs} <= {"cifar10", "fashion_mnist", "uhcs_patches"}
        assert {run.data.encoder for run in runs} == {"offline"}


def test_there_is_a_spec_for_every_table_of_the_paper():
    assert {int(p.stem[5:].partition("_")[0]) for p in SPECS if p.stem.startswith("table")} == set(
        range(1, 13)
    )


def test_there_is_a_spec_for_every_figure_of_results_in_the_paper():
    drawn = {p.stem: read_spec(p).layout.figure for p in SPECS if p.stem.startswith("figure")}
    assert sorted(drawn) == [
        "figure1_robustness",
        "figure3_classes",
        "figure3_margin",
        "figure4_beta",
        "figure5_map",
        "figure6_clients",
    ]
    assert set(drawn.values()) == set(FIGURES)


def test_what_was_run_is_told_unless_it_is_varied():
    told = str(parse_spec(CASES))
    assert "imbalance_ratio 1.0" in told
    assert told.endswith("seeds 0 to 1")
    assert "method" not in told
    assert not any(word in told for word in ("cifar10", "clients", "model"))


def test_a_list_varies_a_setting_and_full_is_run_once():
    runs = parse_spec(SMALL).runs()
    assert len(runs) == 2 * (1 + 2 + 2)
    assert len({run.key for run in runs}) == len(runs)


def test_every_cell_finds_its_run():
    spec = parse_spec(SMALL)
    keys = {run.key for run in spec.runs()}
    cells = list(spec.cells())
    assert len(cells) == 2 * 3 * 2
    assert all(run.key in keys for _, run in cells)


def test_a_preset_lies_over_the_file_and_changes_over_both():
    spec = parse_spec(SMALL, "laptop", ["training.lr=0.5", "pruning.p_f=[0.3, 0.7, 0.9]"])
    assert spec.seeds == 1
    assert spec.values["training.rounds"] == (3,)
    assert spec.values["training.lr"] == (0.5,)
    assert spec.values["pruning.p_f"] == (0.3, 0.7, 0.9)


def test_a_change_needs_no_section_since_no_two_sections_share_a_name():
    assert parse_spec(SMALL, "", ["p_f=0.2"]).values["pruning.p_f"] == (0.2,)
    names = [name for kind in SECTIONS.values() for name in types_of(kind)]
    assert len(set(names)) == len(names)


CASES = {
    **SMALL,
    "data": {"name": "cifar10"},
    "case": [
        {"name": "small", "partition": {"clients": 3}, "training": {"model": "cnn"}},
        {"name": "steel", "data": {"name": "uhcs"}},
    ],
}


def test_the_settings_of_a_case_change_together():
    spec = parse_spec(CASES)
    found = {
        (values["case"], run.data.name, run.partition.clients, run.training.model)
        for values, run in spec.cells()
    }
    assert found == {("small", "cifar10", 3, "cnn"), ("steel", "uhcs", 10, "probe")}
    assert spec.varied == ("pruning.method", "pruning.p_f", "case")
    assert Spec.from_dict(json.loads(json.dumps(spec.as_dict()))) == spec


def test_what_a_preset_or_a_change_sets_stands_in_every_case():
    preset = {"presets": {"tiny": {"data": {"name": "fashion_mnist"}}}}
    spec = parse_spec({**CASES, **preset}, "tiny", ["clients=7"])
    runs = spec.runs()
    assert {(run.data.name, run.partition.clients) for run in runs} == {("fashion_mnist", 7)}
    assert {run.training.model for run in runs} == {"cnn", "probe"}


def test_a_preset_may_have_cases_a_title_and_a_note_of_its_own():
    over = {"case": [{"name": "one"}], "title": "t", "note": "n"}
    spec = parse_spec({**CASES, "presets": {"tiny": over}}, "tiny")
    assert (spec.title, spec.note, [c.name for c in spec.cases]) == ("t", "n", ["one"])


def test_a_word_needs_no_quotes_on_the_command_line():
    assert parse_spec(SMALL, "", ["training.model=probe"]).values["training.model"] == ("probe",)


def test_a_spec_survives_being_stored():
    spec = parse_spec({**SMALL, "table": {"columns": ["p_f"]}}, "laptop")
    assert Spec.from_dict(spec.as_dict()) == spec


def test_the_key_changes_with_every_setting_and_the_seed():
    keys = {
        parse_spec({}, "", [change]).runs()[0].key
        for change in (
            "data.samples=5",
            "partition.alpha=2.0",
            "training.lr=0.3",
            "pruning.p_f=0.2",
        )
    }
    runs = with_seeds(parse_spec({}), 2).runs()
    assert len(keys | {run.key for run in runs}) == 6


def test_settings_a_method_does_not_look_at_make_no_second_run():
    varied = {"pruning": {"method": ["random"], "beta": [0.1, 0.9]}}
    assert len(with_seeds(parse_spec(varied), 1).runs()) == 1
    matched = {"pruning": {"method": ["random"], "beta": [0.1, 0.9], "mode": "matched"}}
    assert len(with_seeds(parse_spec(matched), 1).runs()) == 2
    warm_up = {"warm_up_model": ["", "probe"], "warm_up_repeats": [1, 2]}
    for method, runs in (("random", 1), ("scope", 1), ("el2n", 4)):
        varied = {"pruning": {"method": [method], **warm_up}}
        assert len(with_seeds(parse_spec(varied), 1).runs()) == runs


@pytest.mark.parametrize(
    ("document", "says"),
    [
        ({"pruning": {"betta": 0.5}}, r"\[pruning\] has no setting 'betta'; did you mean 'beta'\?"),
        ({"prunning": {}}, "the spec has no setting 'prunning'; did you mean 'pruning'"),
        ({"pruning": {"method": "scop"}}, "no setting 'scop'; did you mean 'scope'"),
        ({"pruning": {"mode": "both"}}, "mode must be native or matched, got 'both'"),
        ({"pruning": {"beta": "half"}}, r"\[pruning\] beta must be a number, got 'half'"),
        ({"training": {"rounds": 2.5}}, "rounds must be a whole number, got 2.5"),
        ({"training": {"rounds": []}}, "rounds must have at least one value, got none"),
        ({"training": 3}, r"\[training\] must be a section, got 3"),
        ({"seeds": 0}, "seeds must be at least 1, got 0"),
        ({"seeds": True}, "seeds must be a whole number, got True"),
        ({"table": {"colums": []}}, r"\[table\] has no setting 'colums'; did you mean 'columns'"),
        ({"presets": {"a": {"prunning": {}}}}, r"\[presets.a\] has no setting 'prunning'; did you"),
        ({"case": {"name": "a"}}, r"under \[\[case\]\]"),
        ({"case": [{"name": "a", "dat": {}}]}, r"\[\[case\]\] has no setting 'dat'; did you"),
        ({"case": [{}]}, r"\[\[case\]\] name must be a text, got None"),
        ({"case": [{"name": "a"}, {"name": "a"}]}, "a name of its own, got a, a"),
        ({"case": [{"name": "a", "pruning": {"p_f": [0, 1]}}]}, "set pruning.p_f to one value"),
        (
            {"case": [{"name": "a", "pruning": {"p_f": 0.1}}], "pruning": {"p_f": [0.1, 0.2]}},
            "a sets pruning.p_f, which the spec varies",
        ),
        ({"case": [{"name": "a", "pruning": {"method": "scop"}}]}, "did you mean 'scope'"),
        ({"training": {"rounds": list(range(300_000))}, "seeds": 5}, "1000000 runs at most"),
    ],
)
def test_a_slip_in_a_spec_is_named(document, says):
    with pytest.raises(ScopeError, match=says):
        parse_spec(document)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("pruning.betta=1", "did you mean 'beta'"),
        ("betta=1", "the spec has no setting 'betta'; did you mean 'beta'"),
        ("pruning.beta", "name=value or section.name=value, got 'pruning.beta'"),
        ("prune.beta=1", "did you mean 'pruning'"),
    ],
)
def test_a_slip_in_a_change_is_named(change, says):
    with pytest.raises(ScopeError, match=says):
        parse_spec({}, "", [change])


def test_an_unknown_preset_is_named():
    with pytest.raises(ScopeError, match="no setting 'lapptop'; did you mean 'laptop'"):
        parse_spec(SMALL, "lapptop")


def test_a_layout_that_names_no_setting_is_refused():
    with pytest.raises(ScopeError, match="did you mean 'p_f'"):
        check_layout(parse_spec({"table": {"columns": ["p_ff"]}}))


def test_a_file_that_is_no_toml_is_refused(tmp_path):
    (tmp_path / "s.toml").write_text("[pruning\n")
    with pytest.raises(ScopeError, match="must be TOML"):
        read_spec(tmp_path / "s.toml")
    with pytest.raises(ScopeError, match="could not be read"):
        read_spec(tmp_path / "none.toml")
