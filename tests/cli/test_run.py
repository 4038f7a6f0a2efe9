import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from scopefl.cli.main import scope
from scopefl.experiment.results import read_results

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


@pytest.mark.slow
def test_a_process_killed_in_the_middle_of_a_training_goes_on_to_the_same_result(colours):
    pytest.importorskip("torch")
    changes = [f"folder={colours / 'images'}", "model=cnn", "rounds=80", "method=random"]
    settings = [f"--set={each}" for each in changes]
    command = [sys.executable, "-m", "scopefl", "run", colours / "spec.toml", *settings]
    command += ["--seeds=1", "-o"]
    environment = os.environ | {"SCOPEFL_CACHE": str(colours / "cache")}
    subprocess.run([*command, colours / "whole"], env=environment, check=True, timeout=120)
    running = subprocess.Popen([*command, colours / "killed"], env=environment)
    deadline = time.monotonic() + 60
    while not list((colours / "killed").glob("checkpoints/*.npz")) and time.monotonic() < deadline:
        time.sleep(0.01)
    running.kill()
    assert running.wait(30) == -signal.SIGKILL
    assert not read_results(colours / "killed").results
    subprocess.run([*command, colours / "killed"], env=environment, check=True, timeout=120)
    whole, killed = (read_results(colours / name).results for name in ("whole", "killed"))
    assert [r["metrics"] for r in killed.values()] == [r["metrics"] for r in whole.values()]
    assert [r["curve"] for r in killed.values()] == [r["curve"] for r in whole.values()]
    assert not list((colours / "killed").glob("checkpoints/*.npz"))


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
