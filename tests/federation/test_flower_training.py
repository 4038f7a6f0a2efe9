"""Flower's simulation engine in a process of its own, beside the one-process runner."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr")
pytest.importorskip("ray")

SCRIPT = Path(__file__).with_name("train_both_ways.py")
QUIET = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "OMP_NUM_THREADS": "1",
}


def train_both_ways(case):
    ended = subprocess.run(
        [sys.executable, SCRIPT, case],
        env=os.environ | QUIET,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ended.returncode == 0, ended.stderr[-2000:]
    return json.loads(ended.stdout.splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [
        "probe",
        pytest.param("cnn", marks=pytest.mark.nightly),
        pytest.param("resumed", marks=pytest.mark.nightly),
    ],
)
def test_flower_and_the_one_process_runner_give_the_same_bits(case):
    both = train_both_ways(case)
    assert both["flower"] == both["here"]
    assert len(both["here"]["weights"]) == 64


@pytest.mark.nightly
def test_a_loss_that_becomes_nan_names_the_round_and_the_client_here_too():
    assert "NaN in round 1 at client 2" in train_both_ways("nan")["flower"]


def test_flower_reports_nothing_to_its_makers():
    code = (
        "import scopefl.federation, flwr.supercore.telemetry as t; print(t.FLWR_TELEMETRY_ENABLED)"
    )
    fresh = {name: value for name, value in os.environ.items() if not name.startswith("FLWR_")}
    asked = subprocess.run(
        [sys.executable, "-c", code], env=fresh, capture_output=True, text=True, check=True
    )
    assert asked.stdout == "0\n"
