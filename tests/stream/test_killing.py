"""A watch that is killed again and again; the killing itself is in killing.py."""

import os
import subprocess
import sys
from ast import literal_eval
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NIGHTLY = pytest.mark.nightly


@pytest.mark.slow
@pytest.mark.parametrize(
    "kills",
    [["8"], pytest.param(["100"], marks=NIGHTLY), pytest.param(["20", "real"], marks=NIGHTLY)],
    ids=["small", "full", "real"],
)
def test_a_watch_killed_at_random_moments_loses_and_doubles_nothing(kills):
    # In a process of its own: a fork of this one would carry pytest's threads.
    done = subprocess.run(
        [sys.executable, "-m", "tests.stream.killing", *kills],
        capture_output=True, text=True, check=False, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = literal_eval(done.stdout.splitlines()[-1])
    assert found["killed"] == int(kills[0])
    assert found["counted"] == found["images"]
    assert not found["coreset differs"]
    assert not found["published differs"]
    assert found["told apart"] == 0
