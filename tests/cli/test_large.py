"""What commands say and write of a table on disk is what they say and write of one in memory."""

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from scopefl.cli.export import FORMS
from scopefl.cli.main import scope
from scopefl.core.cells import UNIT
from scopefl.core.release import Release
from scopefl.core.scores import score
from scopefl.core.terms import Terms
from scopefl.data import batches, sorter
from scopefl.data.coreset_file import read_coreset
from scopefl.data.scores_file import ScoresFile, read_scores, write_scores
from scopefl.federation.answering import share_file

C, N = 5, 400
ROOT = Path(__file__).parents[2]
FULL = """
import resource, signal, sys
from scopefl.cli.main import run
from scopefl.data import batches
batches.LARGE = 0
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
del sys.argv[1]
run()
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Write scores of noisy points with some quarantined rows; profile, merge and select them."""
    rng = np.random.default_rng(0)
    prototypes = rng.standard_normal((C, 12))
    labels = rng.choice(C, N, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    rows = prototypes[labels] + rng.standard_normal((N, 12))
    rows, prototypes = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (rows, prototypes))
    rows[7::50] = rows[7]  # alike but for their ids
    there = np.arange(N) % 9 != 4
    names = tuple("abcde")
    ids = [f"image {number * 7919 % N:03}" for number in range(N)]
    scores = score(np.float32(rows[there]), np.float32(prototypes), labels[there])
    file = ScoresFile.of(scores, labels[there], names, bytes(8), settings={"kit": "tiny"})
    whole = file.among(
        there,
        ids=ids,
        paths=[f"d/{name}.png" for name in ids],
        labels=[names[label] for label in labels],
        reasons=[None if one else "broken" for one in there],
    )
    folder = tmp_path_factory.mktemp("site")
    write_scores(whole, folder / "s.parquet")
    np.save(folder / "truth.npy", np.where(np.arange(N) % 3, labels, (labels + 1) % C))
    run("profile", folder / "s.parquet", "-o", folder / "s.profile")
    run("merge", folder / "s.profile", "-o", folder / "policy", "--expect", 1)
    select = ("select", folder / "s.parquet", "--policy", folder / "policy")
    run(*select, "-o", folder / "c.parquet")
    run(*select, "--keep", "0.3", "-o", folder / "k.parquet")
    return folder


@pytest.fixture
def on_disk(monkeypatch):
    """Give what makes every table too large for memory."""

    def small():
        monkeypatch.setattr(batches, "LARGE", 0)
        monkeypatch.setattr(batches, "BATCH", 37)
        monkeypatch.setattr(sorter, "MOST", 20)

    return small


def run(*arguments):
    done = CliRunner().invoke(scope, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("mode", ["open", "min-cell"])
def test_a_profile_is_the_same_message(site, tmp_path, on_disk, mode):
    command = ("profile", site / "s.parquet", "--mode", mode, "-o", tmp_path / "p")
    said, message = run(*command), (tmp_path / "p").read_bytes()
    on_disk()
    assert (run(*command), (tmp_path / "p").read_bytes()) == (said, message)


def test_an_audit_names_the_same_images(site, tmp_path, on_disk):
    whole = read_scores(site / "s.parquet")
    few = np.isin(np.cumsum(np.asarray(whole.table["label"].cast("string")) == "e"), (0, 1, 2))
    keep = few | (np.asarray(whole.table["label"].cast("string")) != "e")
    write_scores(replace(whole, table=whole.table.filter(keep)), tmp_path / "s")
    command = ["audit", str(tmp_path / "s")]
    told = CliRunner().invoke(scope, command)
    assert told.exit_code == 5
    assert "image " in told.output
    on_disk()
    assert CliRunner().invoke(scope, command).output == told.output


def test_noisy_modes_sum_up_parts(site, on_disk):
    terms = Terms.of("local-dp", epsilon=100, tiles=1, low=-1, high=1)
    told = []
    for part in range(2):
        file = batches.open_scores(site / "s.parquet")
        assert isinstance(file, batches.ScoresTable) == bool(part)
        told.append(Release.from_bytes(share_file(file, terms)).profile.count / UNIT)
        on_disk()
    assert told[0].sum() > 300
    assert np.abs(told[0] - told[1]).max() < 10


@pytest.mark.parametrize("flags", [(), ("--p-l", "auto"), ("--keep", "0.3")])
def test_a_coreset_has_the_same_rows(site, tmp_path, on_disk, flags):
    command = ("select", site / "s.parquet", "--policy", site / "policy", *flags)
    said = run(*command, "-o", tmp_path / "c").replace("\n", " ")
    rows = read_coreset(tmp_path / "c").table.to_pylist()
    on_disk()
    assert run(*command, "-o", tmp_path / "c").replace("\n", " ") == said
    assert read_coreset(tmp_path / "c").table.to_pylist() == rows


@pytest.mark.parametrize("name", ["s.parquet", "c.parquet", "k.parquet"])
def test_show_tells_the_same(site, on_disk, name):
    said = run("show", site / name, "--json")
    on_disk()
    assert run("show", site / name, "--json") == said


@pytest.mark.parametrize("form", FORMS)
def test_an_export_is_the_same_file(site, tmp_path, on_disk, form):
    command = ("export", site / "c.parquet", "--to", form, "-o", tmp_path / "e")
    run(*command)
    text = (tmp_path / "e").read_text()
    assert text
    on_disk()
    run(*command)
    assert (tmp_path / "e").read_text() == text


def test_a_sweep_has_the_same_outcomes(site, on_disk):
    command = ("sweep", site / "s.parquet", "--policy", site / "policy", "--json")
    command += ("--p-l", "0,auto", "--p-f", "0.3,0.7", "--truth", site / "truth.npy")
    said = run(*command)
    on_disk()
    assert run(*command) == said


@pytest.mark.parametrize("policy", [True, False])
def test_why_gives_the_same_reasons_and_ranks(site, on_disk, policy):
    told = ("--policy", site / "policy") if policy else ()
    table = read_coreset(site / "c.parquet").table.to_pylist()
    images = [next(r for r in table[9:] if r["fate"] == fate)["id"] for fate in batches.FATES]
    images += [table[57]["path"], f"/elsewhere/{table[107]['path']}"]
    commands = [("why", image, "--coreset", site / "c.parquet", *told) for image in images]
    said = [run(*command) for command in commands]
    assert "rank" in said[0]
    on_disk()
    assert [run(*command) for command in commands] == said


def test_anomalies_are_too_many_to_look_at_in_words(site, tmp_path, monkeypatch):
    from scopefl.report.exports import labelling

    monkeypatch.setattr(labelling, "MOST", 3)
    command = ("export", site / "c.parquet", "--to", "label-studio", "-o", tmp_path / "e")
    done = CliRunner().invoke(scope, [str(each) for each in command])
    assert done.exit_code == 2
    assert "no more than 3 anomalies, there are" in done.output


@pytest.mark.parametrize("largest", [100, 3000])
def test_a_full_disk_is_one_sentence_and_the_old_coreset_stays(site, tmp_path, largest):
    out = tmp_path / "c.parquet"
    out.write_bytes(b"what was there before")
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(largest), "select", site / "s.parquet",
         "--policy", site / "policy", "-o", out],
        capture_output=True, text=True, cwd=ROOT, env={**os.environ, "PYTHONPATH": "src"},
    )  # fmt: skip
    assert done.returncode == 2, done.stderr
    (sentence,) = done.stderr.splitlines()
    assert "free some space or choose another place" in sentence
    assert out.read_bytes() == b"what was there before"
    assert list(tmp_path.iterdir()) == [out]
