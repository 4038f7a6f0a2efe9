import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from scopefl.cli.main import scope

SPEC = """
title = "colours"
seeds = 3
[data]
name = "folder"
side = 32
[partition]
clients = 2
alpha = 1.0
[training]
features = 0
rounds = 2
[pruning]
method = ["full", "random", "scope", "budget"]
[table]
metrics = ["accuracy", "choosing_up"]
"""


def call(*args):
    return CliRunner().invoke(scope, [str(arg) for arg in args], catch_exceptions=False)


@pytest.fixture
def colours(tmp_path):
    rng = np.random.default_rng(0)
    for c, name in enumerate(("red", "green", "blue")):
        (tmp_path / "images" / name).mkdir(parents=True)
        for i in range(8):
            pixels = rng.integers(0, 90, (32, 32, 3), dtype=np.uint8)
            pixels[..., c] += 150
            Image.fromarray(pixels).save(tmp_path / "images" / name / f"{i}.png")
    (tmp_path / "spec.toml").write_text(SPEC)
    return tmp_path


@pytest.mark.slow
def test_from_a_spec_and_a_folder_of_images_to_tables(colours, monkeypatch):
    pytest.importorskip("scipy")
    monkeypatch.setenv("SCOPEFL_CACHE", str(colours / "cache"))
    where = f"data.folder={colours / 'images'}"
    spec, runs = colours / "spec.toml", colours / "runs"
    first = call("run", spec, "--set", where, "-o", runs)
    assert first.exit_code == 0, first.output
    assert "12 of 12 runs" in first.output
    again = call("run", spec, "--set", where, "-o", runs)
    assert "12 of 12 runs" in again.output
    printed = call("tables", runs).output
    assert "**colours: accuracy, percent**" in printed
    assert "| scope | random |" in printed
    assert "not run" not in printed
    assert r"\toprule" in call("tables", runs, "--latex").output


@pytest.mark.slow
def test_results_go_to_a_folder_named_after_the_spec(colours, monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", str(colours / "cache"))
    monkeypatch.chdir(colours)
    where = f"data.folder={colours / 'images'}"
    ran = call("run", "spec.toml", "--set", where, "--set", 'pruning.method="full"', "--seeds", "1")
    assert "scope tables runs/spec shows them" in ran.output
    assert (colours / "runs" / "spec" / "results.jsonl").exists()


def test_a_mistyped_setting_is_one_sentence(tmp_path):
    (tmp_path / "spec.toml").write_text("[pruning]\nbetta = 0.5\n")
    result = call("run", tmp_path / "spec.toml", "-o", tmp_path / "runs")
    assert result.exit_code == 2
    assert "scope: [pruning] has no setting 'betta'; did you mean 'beta'?" in result.output
    assert not (tmp_path / "runs").exists()


def test_tables_of_nothing_is_one_sentence(tmp_path):
    result = call("tables", tmp_path)
    assert result.exit_code == 2
    assert "must hold results of `scope run`" in result.output
