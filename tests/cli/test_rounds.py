import json

import numpy as np
import pytest
from click.testing import CliRunner

from scopefl.cli.main import COMMANDS, scope
from tests.clouds import cloud

NAMES = ["carbide", "ferrite", "martensite", "pearlite"]


def call(*arguments):
    return CliRunner().invoke(scope, [str(a) for a in arguments])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Embeddings, prototypes, labels and class names of three sites, in the working folder."""
    monkeypatch.chdir(tmp_path)
    images, prototypes, labels = cloud(300, len(NAMES))
    np.save("P.npy", prototypes)
    (tmp_path / "names.txt").write_text("\n".join(NAMES))
    for k, site in enumerate("ABC"):
        np.save(f"{site}.npy", images[k::3])
        (tmp_path / f"{site}.txt").write_text("\n".join(NAMES[y] for y in labels[k::3]))
    return tmp_path


def scored(site, *more):
    files = ["--embeddings", f"{site}.npy", "--prototypes", "P.npy", "--labels", f"{site}.txt"]
    return call("score", *files, "--classes", "names.txt", "-o", f"{site}.parquet", *more)


def whole_round(folder):
    for site in "ABC":
        assert scored(site).exit_code == 0
        assert call("profile", f"{site}.parquet", "-o", f"{site}.profile").exit_code == 0
    profiles = [f"{site}.profile" for site in "ABC"]
    return call("merge", *profiles, "-o", "policy.scope", "--expect", "3")


def test_three_sites_and_a_coordinator_finish_a_round(folder):
    merged = whole_round(folder)
    assert "3 of 3 sites" in merged.output
    done = call("select", "A.parquet", "--policy", "policy.scope", "-o", "A.coreset.parquet")
    assert done.exit_code == 0
    assert "10 anomalous (10.0 %)" in done.output
    assert "kept of all" in done.output
    budget = call("select", "A.parquet", "--policy", "policy.scope", "-o", "b", "--keep", "0.3")
    kept = int(budget.output.split()[1])
    assert abs(kept - 30) <= len(NAMES)


@pytest.mark.parametrize(
    ("file", "kind"),
    [
        ("A.parquet", "scores"),
        ("A.profile", "profile"),
        ("policy.scope", "policy"),
        ("c", "coreset"),
    ],
)
def test_show_tells_what_any_file_is(folder, file, kind):
    whole_round(folder)
    call("select", "A.parquet", "--policy", "policy.scope", "-o", "c")
    assert call("show", file).exit_code == 0
    found = json.loads(call("show", file, "--json").output)
    assert found["kind"] == kind
    assert len(found["classes"]) == len(NAMES)


def other_kit(folder):
    prototypes = np.load("P.npy")
    np.save("P.npy", prototypes[:, ::-1])
    np.save("A.npy", np.load("A.npy")[:, ::-1])
    assert scored("A").exit_code == 0


def other_classes(folder):
    (folder / "names.txt").write_text("\n".join(["cementite", *NAMES[1:]]))
    text = (folder / "A.txt").read_text().replace("carbide", "cementite")
    (folder / "A.txt").write_text(text)
    assert scored("A").exit_code == 0


@pytest.mark.parametrize(
    ("change", "what"), [(other_kit, "different kits"), (other_classes, "different class lists")]
)
def test_scores_of_another_kit_do_not_meet_this_policy(folder, change, what):
    whole_round(folder)
    change(folder)
    done = call("select", "A.parquet", "--policy", "policy.scope", "-o", "c")
    assert done.exit_code == 4
    assert what in done.output


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (
            ("select", "A.parquet", "--policy", "policy.scope", "-o", "c", "--p-l", "1.5"),
            2,
            "p_l must be at least 0 and below 1, got 1.5",
        ),
        (
            ("select", "A.parquet", "--policy", "A.profile", "-o", "c"),
            2,
            "a policy is wanted here, got a profile",
        ),
        (("select", "A.profile", "--policy", "policy.scope", "-o", "c"), 2, "A.profile must be"),
        (
            ("merge", "A.profile", "B.profile", "-o", "p", "--expect", "3"),
            5,
            "3 sites were expected",
        ),
        (("merge", "A.profile", "-o", "p", "--max-samples", "3"), 2, "more than 3 samples"),
        (
            ("merge", "A.profile", "-o", "p", "--gamma", "-1"),
            2,
            "gamma must be a number of at least",
        ),
        (("show", "names.txt"), 2, "must be a file that scope wrote"),
        (("score", "-o", "x"), 2, "scope score needs IMAGES"),
        (
            ("score", "--embeddings", "A.npy", "-o", "x"),
            2,
            "needs --prototypes beside --embeddings",
        ),
        (("select", "nowhere", "--policy", "policy.scope", "-o", "c"), 2, "does not exist"),
    ],
)
def test_mistakes_end_in_one_sentence_and_their_exit_code(folder, arguments, code, sentence):
    whole_round(folder)
    done = call(*arguments)
    assert done.exit_code == code
    assert sentence in done.output
    assert "Traceback" not in done.output


def test_an_unknown_label_is_named(folder):
    (folder / "A.txt").write_text((folder / "A.txt").read_text().replace("ferrite", "ferite"))
    done = scored("A")
    assert done.exit_code == 2
    assert "ferite" in done.output


def test_labels_that_are_numbers_need_no_names(folder):
    np.save("y.npy", np.arange(100) % len(NAMES))
    done = call(
        "score",
        "--embeddings",
        "A.npy",
        "--prototypes",
        "P.npy",
        "--labels",
        "y.npy",
        "-o",
        "x.parquet",
    )
    assert done.exit_code == 0
    assert "100 samples scored in 4 classes" in done.output


def test_every_command_explains_itself():
    assert call("--help").exit_code == 0
    for name in COMMANDS:
        done = call(name, "--help")
        assert done.exit_code == 0
        assert "Usage: scope" in done.output


def test_without_an_expectation_merge_says_what_it_did_not_check(folder):
    whole_round(folder)
    assert "was not checked" in call("merge", "A.profile", "-o", "p").output
