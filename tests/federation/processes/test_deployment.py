"""A server and three sites in processes of their own, with TLS and keys on loopback."""

import subprocess
import sys
import time

import psutil
import pytest

from scopefl.core.policy import Agreement
from scopefl.data.coreset_file import read_coreset
from scopefl.data.files import write_bytes
from scopefl.data.scores_file import read_scores
from scopefl.federation.by_file import Rule, choose, coreset, merge

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
SITES = ("north", "south", "west")


def settings(**given):
    named = {"expect": "north,south,west", "rounds": 1, "classes": 10, **given}
    pairs = [f"{key.replace('_', '-')}={value}" for key, value in named.items()]
    return [part for pair in pairs for part in ("-c", pair)]


def test_three_sites_agree_as_they_would_by_file(deployment, scope_run, tmp_path):
    given = settings(keep="0.4", run="one")
    ended = scope_run.run("--server", str(deployment.coordinator), *given)
    assert ended.code == 0, ended.text
    paths = []
    for site in SITES:
        file = read_scores(deployment.scores(site))
        paths.append(tmp_path / f"{site}.profile")
        write_bytes(paths[-1], file.profile.to_bytes(file.fingerprint))
    agreement = merge(paths, expected=SITES)
    assert ended.policy == agreement.to_bytes()
    rule = Rule(p_l="0.1", keep="0.4", run="one")
    for site in SITES:
        file = read_scores(deployment.scores(site))
        kept = choose(file, Agreement.from_bytes(ended.policy), rule, site).kept
        assert ended.ids(site) == list(file.ids[kept])
        written = read_coreset(deployment.folder / f"{site}-coreset.parquet")
        assert written.table == coreset(file, agreement, rule, site).table
    kept = sum(len(ended.ids(site)) for site in SITES)
    assert ended.result["train"]["1"] == {"images": 600, "kept": kept, "kept-fraction": kept / 600}
    assert abs(kept - 240) <= 10  # each class is rounded by less than one image, without a message


def test_a_site_whose_key_was_not_admitted_is_refused(deployment, tmp_path):
    key = deployment.folder / "west" / "west.pub"
    stranger = deployment.folder / "stranger"
    arguments = ["join", str(deployment.coordinator / "invitation.json"), "--site", "west"]
    arguments += ["--scores", str(deployment.scores("west")), "--folder", str(stranger)]
    done = scope(*arguments, "--wait", "0", "--yes")
    assert done.returncode == 5
    assert "the server does not take west yet: send the coordinator" in done.stderr
    done = scope("admit", str(deployment.coordinator), str(stranger / "west.pub"))
    assert done.returncode == 5
    assert "west was admitted with another key" in done.stderr
    assert (stranger / "west.pub").read_bytes() != key.read_bytes()


def test_a_server_that_is_not_the_invitations_is_refused(deployment, tmp_path):
    address = f"127.0.0.1:{deployment.port}"
    scores = str(deployment.scores("north"))
    other = str(tmp_path / "other")
    assert scope("invite", other, "--address", address, "--sites", "north", "--scores", scores)
    done = scope(
        "join",
        f"{other}/invitation.json",
        "--site",
        "north",
        "--scores",
        scores,
        "--folder",
        str(tmp_path / "site"),
        "--wait",
        "0",
        "--yes",
    )
    assert done.returncode == 5
    assert "must show a certificate of the invitation's authority" in done.stderr


def test_a_site_that_loses_power_while_training_and_one_that_hangs(deployment, scope_run):
    given = settings(train_timeout=30, fault_south="hang train", fault_west="hang train")
    running, out = scope_run.start("--server", str(deployment.coordinator), *given)
    try:
        hung = [out / f"hanging-{site}" for site in ("south", "west")]
        wait_for(lambda: all(path.exists() for path in hung), running)
        deployment.sites["west"].kill()
        assert running.ended() == 0, running.text
        text = " ".join(running.text.split())
        assert "training round 1 goes on without south: no answer before the deadline" in text
        assert "training round 1 goes on without west" in text
        ended = scope_run.ended(0, text, out)
        assert ended.result["train"]["1"]["kept"] == len(ended.ids("north"))
        deployment.sites["south"].stop()
        south = int(hung[0].read_text())
        wait_for(lambda: not psutil.pid_exists(south), None)
    finally:
        running.stop()


@pytest.mark.nightly
def test_a_site_comes_back_after_losing_power_and_selects_the_same(deployment, scope_run):
    deployment.revive()
    before = scope_run.run("--server", str(deployment.coordinator), *settings())
    assert before.code == 0, before.text
    for site in SITES:
        deployment.sites[site].kill()
    deployment.revive()
    after = scope_run.run("--server", str(deployment.coordinator), *settings())
    assert after.code == 0, after.text
    assert after.policy == before.policy
    assert [after.ids(site) for site in SITES] == [before.ids(site) for site in SITES]


@pytest.mark.nightly
def test_a_site_that_loses_power_in_the_profile_round_is_named(deployment, scope_run):
    deployment.revive()
    given = settings(quorum=2, profile_timeout=90, fault_west="hang query")
    running, out = scope_run.start("--server", str(deployment.coordinator), *given)
    try:
        wait_for(lambda: (out / "hanging-west").exists(), running)
        deployment.sites["west"].kill()
        assert running.ended(200) == 0, running.text
        assert "ONLY 2 of 3 sites (west: " in " ".join(running.text.split())
    finally:
        running.stop()


@pytest.mark.nightly
def test_a_client_that_exits_is_named_and_the_policy_speaks_for_the_others(deployment, scope_run):
    deployment.revive()
    given = settings(quorum=2, profile_timeout=20, train_timeout=30)
    faults = settings(fault_south="exit query", fault_west="nan train")
    ended = scope_run.run("--server", str(deployment.coordinator), *given, *faults)
    assert ended.code == 0, ended.text
    text = " ".join(ended.text.split())
    assert ended.result["sites"] == ["north", "west"]
    assert "speaks for ONLY 2 of 3 sites (south: no answer within" in text
    assert "training round 1 goes on without west: sent NaN or infinity in 0" in text
    assert Agreement.from_bytes(ended.policy).sites == 2


@pytest.mark.nightly
def test_a_server_that_loses_power_ends_the_run_with_its_cause(deployment, scope_run):
    deployment.revive()
    given = settings(fault_north="hang train", train_timeout=300)
    running, out = scope_run.start("--server", str(deployment.coordinator), *given)
    try:
        wait_for(lambda: (out / "hanging-north").exists(), running)
        deployment.server.kill()
        assert running.ended() == 6
        assert "scope: flwr ls failed" in running.text
    finally:
        running.stop()


def wait_for(true, running, patience=90.0):
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, running and running.text
        time.sleep(0.2)


def scope(*arguments):
    command = [sys.executable, "-m", "scopefl", *arguments]
    return subprocess.run(command, capture_output=True, text=True)
