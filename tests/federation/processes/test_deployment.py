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


@pytest.mark.parametrize("phase", [pytest.param("query", marks=pytest.mark.nightly), "train"])
def test_a_site_that_loses_power_comes_back_and_selects_the_same(deployment, scope_run, phase):
    faults = {"fault_north": "hold train", "fault_west": f"hang {phase}"}
    given = settings(rounds=2, quorum=2, **faults)
    running, out = scope_run.start("--server", str(deployment.coordinator), *given)
    out.mkdir()
    hold = out / "hold"
    hold.touch()
    try:
        wait_for((out / "hanging-west").exists, running)
        deployment.sites["west"].kill()
        killed = time.monotonic()
        west = deployment.sites["west"] = deployment.join("west")
        west.wait_for("is connected")
        # The server lists it as connected for up to a minute, and refuses it until then.
        assert "trying again" in west.text or time.monotonic() - killed > 25
        hold.unlink()
        assert running.ended() == 0, running.text
    finally:
        running.stop()
    text, ended = " ".join(running.text.split()), scope_run.ended(0, running.text, out)
    named = {"query": "ONLY 2 of 3 sites (west: failed", "train": "without west: failed"}
    assert named[phase] in text
    # It was not asked for a profile again: the policy came with the train message.
    agreement = Agreement.from_bytes(ended.policy)
    assert (agreement.sites, agreement.expected) == (2 if phase == "query" else 3, 3)
    for site in SITES:
        file = read_scores(deployment.scores(site))
        kept = choose(file, agreement, Rule(p_l="0.1", p_f="0.5"), site).kept
        assert ended.ids(site) == list(file.ids[kept])


def test_a_site_that_hangs_one_that_exits_and_a_server_that_loses_power(deployment, scope_run):
    given = settings(rounds=9, train_timeout=40, fault_north="hang train", fault_south="exit train")
    running, out = scope_run.start("--server", str(deployment.coordinator), *given)
    try:
        for site in ("north", "south"):
            running.wait_for(f"training round 1 goes on without\\s+{site}: no answer before")
        deployment.server.kill()
        assert running.ended() == 6
        assert "stopped answering during the run; start it and run again" in running.text
        hung = int((out / "hanging-north").read_text())
        deployment.sites["north"].stop()
        wait_for(lambda: not psutil.pid_exists(hung), None)
    finally:
        running.stop()


@pytest.mark.nightly
def test_a_client_that_hangs_keeps_its_site_busy_for_the_next_round(deployment, scope_run):
    deployment.revive()
    given = settings(rounds=2, train_timeout=40, fault_north="hang train")
    ended = scope_run.run("--server", str(deployment.coordinator), *given)
    assert ended.code == 0, ended.text
    for number in (1, 2):
        assert f"training round {number} goes on without north: no answer" in ended.text
    deployment.sites["north"].stop()


@pytest.mark.nightly
def test_a_server_that_lost_power_is_served_again_to_the_sites_that_waited(deployment, scope_run):
    deployment.server.kill()
    deployment.revive()
    ended = scope_run.run("--server", str(deployment.coordinator), *settings())
    assert ended.code == 0, ended.text
    assert ended.result["sites"] == list(SITES)


def wait_for(true, running, patience=200.0):
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, running and running.text
        time.sleep(0.2)


def scope(*arguments):
    command = [sys.executable, "-m", "scopefl", *arguments]
    return subprocess.run(command, capture_output=True, text=True)
