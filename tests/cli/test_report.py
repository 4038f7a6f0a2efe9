"""`scope report`, `why`, `sweep` and `export`, as typed."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from PIL import Image

from scopefl.cli.main import scope
from scopefl.core.fingerprint import fingerprint
from scopefl.core.policy import agree
from scopefl.core.scores import score
from scopefl.data.coreset_file import write_coreset
from scopefl.data.scores_file import METADATA, ScoresFile, write_scores
from scopefl.federation.by_file import Rule, coreset

NAMES = ("cat", "dog", "emu")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Fill a folder with one site's images, scores, policy and coreset."""
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path / "cache"))
    rng = np.random.default_rng(0)
    truth = rng.choice(3, size=90, p=[0.6, 0.3, 0.1])
    v_img = np.float32(np.eye(3, 8)[truth] + 0.3 * rng.standard_normal((90, 8)))
    v_img /= np.linalg.norm(v_img, axis=1, keepdims=True)
    labels = np.where(rng.random(90) < 0.1, (truth + 1) % 3, truth)
    ids = [f"{NAMES[c]}/{row}.png" for row, c in enumerate(labels)]
    file = ScoresFile.of(
        score(v_img, np.eye(3, 8, dtype=np.float32), labels),
        labels,
        NAMES,
        fingerprint(NAMES, {}),
        ids=ids,
        paths=ids,
    )
    for name in ids[::2]:
        path = tmp_path / "images" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (20, 20), (90, 10, 200)).save(path)
    agreement = agree([file.profile.to_bytes(file.fingerprint)] * 3)
    write_scores(file, tmp_path / "scores.parquet")
    (tmp_path / "policy.scope").write_bytes(agreement.to_bytes())
    write_coreset(coreset(file, agreement, Rule(), "here"), tmp_path / "coreset.parquet")
    np.save(tmp_path / "e.npy", v_img)
    (tmp_path / "truth.txt").write_text("\n".join(NAMES[c] for c in truth))
    return tmp_path


def run(*words: object) -> Result:
    return CliRunner().invoke(scope, [str(word) for word in words])


def rows_of(site: Path, fate: str) -> list[dict[str, Any]]:
    rows = pq.read_table(site / "coreset.parquet").to_pylist()
    return [row for row in rows if row["fate"] == fate]


@pytest.mark.slow
def test_report_shows_what_was_found_and_says_what_was_not(site: Path):
    out = site / "report.html"
    done = run(
        *("report", site / "coreset.parquet", "-o", out, "--policy", site / "policy.scope"),
        *("--embeddings", site / "e.npy", "--truth", site / "truth.txt"),
        *("--images", site / "images"),
    )
    assert done.exit_code == 0, done.output
    html = out.read_text("utf-8")
    assert "wrong labels caught" in html
    assert "image not found" in html
    assert "data:image/webp;base64," in html
    assert "merged from 3 of" in html
    assert "t-SNE of 90 of 90" in html
    assert str(site) not in html
    assert (site / "cache" / "maps").is_dir()


def test_a_report_of_one_coreset_needs_nothing_else(site: Path):
    done = run("report", site / "coreset.parquet", "-o", site / "r.html")
    assert done.exit_code == 0, done.output
    assert "1 coreset;" in done.output
    assert "No embeddings were given" in (site / "r.html").read_text("utf-8")


def test_a_file_too_few_is_one_sentence(site: Path):
    two = (site / "coreset.parquet", site / "coreset.parquet")
    done = run("report", *two, "-o", site / "r.html", "--truth", site / "truth.txt")
    assert done.exit_code == 2
    assert done.output.startswith("scope: --truth must be given once for each of the 2 coresets")


def test_a_coreset_of_another_version_is_refused(site: Path):
    path = site / "coreset.parquet"
    table = pq.read_table(path)
    about = json.loads(table.schema.metadata[METADATA]) | {"version": 99}
    pq.write_table(table.replace_schema_metadata({METADATA: json.dumps(about)}), path)
    done = run("report", path, "-o", site / "r.html")
    assert done.exit_code == 2
    assert "has format version 99 and this scopefl reads 1" in done.output
    assert not (site / "r.html").exists()


def test_scores_are_not_a_coreset(site: Path):
    done = run("report", site / "scores.parquet", "-o", site / "r.html")
    assert done.exit_code == 2
    assert "must be a coreset file, it is a scores file" in done.output


def test_why_prints_scores_z_ranks_and_what_would_keep_it(site: Path):
    image = rows_of(site, "anomalous")[0]["id"]
    where = ("--coreset", site / "coreset.parquet", "--policy", site / "policy.scope")
    done = run("why", image, *where)
    assert done.exit_code == 0, done.output
    assert done.output.startswith(f"{image}: anomalous, labelled {image.split('/')[0]}")
    assert "To keep it: any p_l below" in done.output
    told = json.loads(run("why", image, *where, "--json").output)
    assert told["fate"] == "anomalous"
    assert set(told["z"]) == {"rs", "ds", "s_neg"}


def test_why_of_an_unknown_image_is_one_sentence(site: Path):
    done = run("why", "nobody.png", "--coreset", site / "coreset.parquet")
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "no image of the coreset's 90 rows" in done.output


def test_sweep_prints_a_row_a_setting(site: Path):
    words = ("sweep", site / "scores.parquet", "--policy", site / "policy.scope")
    done = run(*words, "--p-l", "0,0.1,auto", "--p-f", "0.2,0.6", "--truth", site / "truth.txt")
    assert done.exit_code == 0, done.output
    assert sum("paper" in line for line in done.output.splitlines()) == 6
    rows = json.loads(run(*words, "--keep", "0.2,0.5", "--json").output)
    assert [row["keep"] for row in rows] == ["0.2", "0.5"]


def test_sweep_agrees_with_select(site: Path):
    words = ("sweep", site / "scores.parquet", "--policy", site / "policy.scope", "--json")
    (row,) = json.loads(run(*words).output)
    assert row["kept"] == len(rows_of(site, "kept"))
    assert row["redundant"] == len(rows_of(site, "redundant"))


def test_sweep_draws_a_chart_when_asked(site: Path):
    words = ("sweep", site / "scores.parquet", "--policy", site / "policy.scope")
    done = run(*words, "--p-f", "0.1,0.5", "--chart", site / "sweep.html")
    assert done.exit_code == 0, done.output
    assert "2 settings tried" in (site / "sweep.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--p-l", "1.5", "p_l must be at least 0 and below 1"),
        ("--beta", "x", "--beta must be numbers"),
        ("--p-f", ",", "at least one value"),
        ("--gamma", "-1", "gamma must be a number of at least 0"),
    ],
)
def test_sweep_refuses_bad_values(site: Path, option: str, value: str, said: str):
    words = ("sweep", site / "scores.parquet", "--policy", site / "policy.scope")
    done = run(*words, option, value)
    assert done.exit_code == 2
    assert said in done.output


def test_export_writes_every_form_and_touches_no_image(site: Path):
    before = {path: path.read_bytes() for path in (site / "images").rglob("*.png")}
    for form in ("txt", "csv", "hf-indices", "fiftyone", "label-studio", "croissant", "ro-crate"):
        done = run("export", site / "coreset.parquet", "--to", form, "-o", site / "out")
        assert done.exit_code == 0, done.output
        assert (site / "out").stat().st_size > 10
    assert {path: path.read_bytes() for path in (site / "images").rglob("*.png")} == before


def test_export_makes_paths_absolute_from_a_folder(site: Path):
    words = ("export", site / "coreset.parquet", "--to", "txt", "-o", site / "kept.txt")
    run(*words, "--images", site / "images")
    lines = (site / "kept.txt").read_text().splitlines()
    assert lines == [str(site / "images" / row["path"]) for row in rows_of(site, "kept")]


def test_a_kit_without_images_is_one_sentence(site: Path):
    done = run("report", site / "coreset.parquet", "-o", site / "r.html", "--kit", "offline")
    assert done.exit_code == 2
    assert "give them by --images" in done.output


@pytest.mark.slow
def test_the_map_comes_from_the_embeddings_that_scoring_cached(site: Path):
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        (site / "some" / name).mkdir(parents=True)
        for number in range(6):
            pixels = rng.integers(0, 255, (32, 32, 3), np.uint8)
            Image.fromarray(pixels).save(site / "some" / name / f"{number}.png")
    (site / "some" / "dog" / "0.png").write_bytes(b"broken")
    few = ("-o", site / "few.parquet", "--max-quarantined", "1")
    assert run("score", site / "some", "--kit", "offline", *few).exit_code == 0
    run("profile", site / "few.parquet", "-o", site / "few.profile")
    run("merge", site / "few.profile", "-o", site / "few.scope")
    select = ("select", site / "few.parquet", "--policy", site / "few.scope", "--prune-anyway")
    assert run(*select, "-o", site / "c.parquet").exit_code == 0  # noise is no class, and refused
    words = ("report", site / "c.parquet", "-o", site / "r.html", "--images", site / "some")
    done = run(*words, "--kit", "offline")
    assert done.exit_code == 0, done.output
    html = (site / "r.html").read_text("utf-8")
    assert "t-SNE of 11 of 11" in html
    assert "--images some --kit offline" in html
    assert "image not found" not in html
