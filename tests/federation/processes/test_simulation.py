"""The ready app in Flower's simulation, with and without faults, without any network."""

import shutil
import subprocess
import tomllib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from scopefl.core.policy import Agreement
from scopefl.core.profile import Profile
from scopefl.core.scores import Scores
from scopefl.data.files import write_bytes
from scopefl.data.scores_file import read_scores, write_scores
from scopefl.federation.by_file import Rule, choose, merge
from scopefl.federation.template.scope_app import task

pytestmark = pytest.mark.slow
ALONE = ("unshare", "-rn", "sh", "-c", 'ip link set lo up && exec "$0" "$@"')


def no_network() -> tuple[str, ...]:
    """Give the start of a command that has no network but loopback, where the system allows it."""
    if shutil.which("unshare") and shutil.which("ip"):
        tried = subprocess.run([*ALONE, "true"], capture_output=True)
        return ALONE if tried.returncode == 0 else ()
    return ()


@pytest.fixture(scope="module")
def ten(scope_run):
    return scope_run.run("--clients", "10", "-c", "rounds=1", "-c", "p-f=0.7", before=no_network())


def contexts(app: Path, clients: int):
    with (app / "pyproject.toml").open("rb") as file:
        config = tomllib.load(file)["tool"]["flwr"]["app"]["config"]
    for part in range(clients):
        yield SimpleNamespace(node_config={"partition-id": part}, run_config=config)


def test_ten_clients_agree_as_they_would_by_file_or_as_one(ten, app, tmp_path):
    assert ten.code == 0, ten.text
    paths, files = [], []
    for part, context in enumerate(contexts(app, 10)):
        file = task.scores(context)
        write_scores(file, tmp_path / f"{part}.parquet")
        paths.append(tmp_path / f"{part}.profile")
        write_bytes(paths[-1], file.profile.to_bytes(file.fingerprint))
        files.append(file)
    agreement = merge(paths, expected=10)
    assert ten.policy == agreement.to_bytes()
    received = Agreement.from_bytes(ten.policy)
    pooled = [[getattr(file.scores, name) for file in files] for name in ("rs", "ds", "s_neg")]
    labels = np.concatenate([file.labels for file in files])
    whole = Scores(*map(np.concatenate, pooled))
    assert received.profile == Profile.of(whole, labels, 10)
    for part in range(10):
        file = read_scores(tmp_path / f"{part}.parquet")
        kept = choose(file, received, Rule(p_f="0.7"), str(part)).kept
        assert ten.ids(str(part)) == list(file.ids[kept])
    assert ten.result["sites"] == sorted(map(str, range(10)))


def test_it_needs_no_network(ten):
    if not no_network():
        pytest.skip("this system allows no network namespace")
    assert ten.code == 0, ten.text
    assert ten.result["train"]["1"]["kept"] > 0


def test_faulty_clients_are_named_and_do_not_end_the_run(scope_run):
    faults = {"1": "raise train", "2": "nan train", "3": "keys train", "4": "raise query"}
    faults |= {"5": "shape train", "6": "garbage query"}
    settings = [f"fault-{client}={fault}" for client, fault in faults.items()]
    given = [part for setting in settings for part in ("-c", setting)]
    ended = scope_run.run("--clients", "7", "-c", "quorum=5", "-c", "rounds=1", *given)
    assert ended.code == 0, ended.text
    text = " ".join(ended.text.split())
    assert "speaks for ONLY 5 of 7 sites" in text
    causes = sorted(ended.result["absent"].values())
    assert causes[0].startswith("a malformed answer")
    assert causes[1] == "failed: out of memory"
    assert "training round 1 goes on without 1: failed: out of memory" in text
    assert "goes on without 2: sent NaN or infinity in 0" in text
    for client in ("3", "5"):
        assert f"goes on without {client}: sent records, keys or shapes unlike those of" in text
    assert ended.result["train"]["1"]["kept"] > 0


def test_a_run_that_cannot_agree_ends_with_its_cause_and_a_code(scope_run):
    ended = scope_run.run("--clients", "2", "-c", "expect=3", "-c", "profile-timeout=4")
    assert ended.code == 6
    assert "scope: the run ended as finished:failed" in ended.text
    assert "3 sites must be connected, 2 were within 2 s" in ended.text


@pytest.mark.nightly
def test_a_client_that_exits_costs_at_most_its_neighbours_in_that_round(scope_run):
    given = ["-c", "fault-3=exit train", "-c", "rounds=2", "-c", "train-timeout=30"]
    ended = scope_run.run("--clients", "5", *given)
    assert ended.code == 0, ended.text
    assert "goes on without 3: failed" in ended.text


@pytest.mark.nightly
def test_a_client_that_hangs_is_ended_by_the_deadline(scope_run):
    given = ["-c", "fault-1=hang query", "-c", "rounds=1", "-c", "quorum=2"]
    given += ["-c", "profile-timeout=40", "-c", "train-timeout=20"]
    ended = scope_run.run("--clients", "3", "--deadline", "100", *given)
    assert "speaks for ONLY 2 of 3 sites" in ended.text
    assert ended.result["train"]["1"]["kept"] > 0
    assert ended.code == 6
    assert "the run was stopped, it took more than 100 s" in ended.text
