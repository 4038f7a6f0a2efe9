"""The Slurm script is run as sbatch would run it; options that contradict are refused."""

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from scopefl.cli.main import scope
from tests.vision import small

SBATCH = """\
#!/bin/bash
# Do what Slurm does: note the call, run a copy of the script, once for each task of an array.
echo "$*" >> "$JOBS"
array= dependency=
while [[ $1 == --* ]]; do
  case $1 in
    --array=*) array=${1#--array=1-} ;;
    --dependency=afterok:*) dependency=${1#--dependency=afterok:} ;;
  esac
  shift
done
cp "$1" "$JOBS.script"; shift
[[ -z $dependency || $dependency == 71 ]] || exit 1
if [[ -n $array ]]; then
  for task in $(seq "$array"); do
    SLURM_ARRAY_TASK_ID=$task bash "$JOBS.script" "$@" >> "$JOBS.log" 2>&1 || exit 1
  done
  echo "71;cluster"
else
  bash "$JOBS.script" "$@" >> "$JOBS.log" 2>&1
fi
"""


def run(*arguments):
    return CliRunner().invoke(scope, [str(each) for each in arguments])


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "it's a site"
    small.folder(folder / "images")
    (folder / "images" / "cat" / "page.png").write_bytes(b"<html>")
    small.kit().save(folder / "kit")
    return folder


@pytest.fixture
def given(site):
    """Give the words of a command whose cache belongs to `name`."""

    def words(name):
        return (
            "score", site / "images", "--kit", site / "kit", "--runtime", "onnxruntime",
            "--max-quarantined", 1, "--cache", site / f"cache {name}",
            "-o", site / f"{name}.parquet",
        )  # fmt: skip

    return words


def submitted(script, folder, monkeypatch):
    """Run a script where `sbatch` is the one above; give the calls of it and what its jobs said."""
    there = folder / "bin" / "sbatch"
    there.parent.mkdir()
    there.write_text(SBATCH)
    there.chmod(0o755)
    monkeypatch.setenv("PATH", str(there.parent), prepend=":")
    monkeypatch.setenv("JOBS", str(folder / "jobs"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2] / "src"))
    subprocess.run(["bash", script], check=True, cwd="/", timeout=120)
    return (folder / "jobs").read_text().splitlines(), (folder / "jobs.log").read_text()


def test_the_script_of_an_array_and_its_join_writes_the_file_one_process_writes(
    site, given, monkeypatch, tmp_path
):
    assert run(*given("one")).exit_code == 0
    found = run(*given("many"), "--sbatch", 3, "--cpus", 2, "--gpus", 1)
    assert found.exit_code == 0, found.output
    script = site / "many.sbatch"
    assert f"bash {script}" in found.output
    assert not (site / "many.parquet").exists()
    calls, log = submitted(script, tmp_path, monkeypatch)
    assert calls == [
        f"--parsable --array=1-3 {script} part",
        f"--dependency=afterok:71 --kill-on-invalid-dep=yes {script} join",
    ]
    assert "part 3/3: 4 embedded, 0 unreadable" in log
    assert (site / "many.parquet").read_bytes() == (site / "one.parquet").read_bytes()


def test_what_slurm_is_asked_for_stands_in_the_script(site, given):
    asked = run(*given("many"), "--sbatch", 12, "--cpus", 8, "--gpus", 1)
    assert asked.exit_code == 0, asked.output
    lines = (site / "many.sbatch").read_text().splitlines()
    assert {"#SBATCH --cpus-per-task=8", "#SBATCH --gpus-per-task=1"} < set(lines)
    assert run(*given("many"), "--sbatch", 12, "--numbered").exit_code == 0
    text = (site / "many.sbatch").read_text()
    assert "--cpus-per-task=4" in text
    assert "--gpus" not in text
    assert " --numbered --" in text


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--engine", "ray", "--shard", "1/2"), "--engine ray divides the work itself; leave out"),
        (("--engine", "ray", "--sbatch", "2"), "--engine ray divides the work itself; leave out"),
        (("--workers", "2"), "--workers needs --engine ray"),
        (("--workers", "2", "--sbatch", "2"), "--workers needs --engine ray"),
        (("--gpus", "1"), "--gpus needs --engine ray; --sbatch takes --cpus and --gpus too"),
        (("--sbatch", "2", "--shard", "1/2"), "--sbatch makes the shards itself"),
        (("--sbatch", "0"), "0 is not in the range x>=1"),
    ],
)
def test_options_that_contradict_are_refused(site, given, flags, sentence):
    found = run(*given("many"), *flags)
    assert found.exit_code == 2
    assert sentence in found.output
    assert not (site / "many.sbatch").exists()


def test_labels_that_are_no_class_are_refused_before_any_job(site, given):
    small.folder(site / "images" / "fox")
    found = run(*given("many"), "--sbatch", "2")
    assert found.exit_code == 2
    assert "fox" in found.output
