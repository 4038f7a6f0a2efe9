"""The folders of the coordinator and of a site, by the commands people type."""

import stat

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from scopefl.cli.main import scope
from scopefl.core.scores import score
from scopefl.core.terms import MODES, Terms
from scopefl.data.scores_file import ScoresFile, write_scores
from scopefl.federation.invitation import read_invitation
from scopefl.federation.launch import free_port
from scopefl.federation.secure_sum import Roster, public_of
from scopefl.federation.sharing import share, size_of
from scopefl.federation.site import Site

CLASSES = ("grain", "pore", "crack")


@pytest.fixture
def scores(tmp_path):
    """Write the scores of one site."""
    path = tmp_path / "north.parquet"
    write_scores(scored(b"kit-one!"), path)
    return path


def scored(kit: bytes) -> ScoresFile:
    labels = np.array([0, 0, 1, 1, 2])
    found = score(np.eye(3)[labels], np.eye(3), labels)
    return ScoresFile.of(found, labels, CLASSES, kit)


def run(*arguments, answer=None):
    return CliRunner().invoke(scope, [str(one) for one in arguments], input=answer)


def invited(tmp_path, scores, address="127.0.0.1:8443"):
    folder = tmp_path / "coordinator"
    done = run(
        "invite",
        folder,
        "--address",
        address,
        "--sites",
        "north, south",
        "--scores",
        scores,
    )
    assert done.exit_code == 0, done.output
    assert "send it to north, south; it holds no secret" in done.output
    return folder


def test_the_coordinators_folder_keeps_its_key_to_itself(tmp_path, scores):
    folder = invited(tmp_path, scores)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "server.key").stat().st_mode) == 0o600
    again = run("invite", folder, "--address", "127.0.0.1:8443", "--sites", "x", "--scores", scores)
    assert again.exit_code == 2
    assert "must be new or an empty folder" in again.output


def invitation_of(tmp_path):
    return read_invitation(tmp_path / "coordinator" / "invitation.json")


def join(tmp_path, scores, *more, answer=None):
    invitation = tmp_path / "coordinator" / "invitation.json"
    return run(
        "join",
        invitation,
        "--site",
        "north",
        "--scores",
        scores,
        "--folder",
        tmp_path / "site",
        *more,
        answer=answer,
    )


def test_nothing_leaves_before_somebody_agreed_to_its_bytes(tmp_path, scores):
    invited(tmp_path, scores)
    done = join(tmp_path, scores, answer="n\n")
    assert done.exit_code == 1
    size = len(scored(b"kit-one!").profile.to_bytes(b"kit-one!"))
    assert f"a profile of {size} bytes (counts and sums for 3 classes, mode open)" in done.output
    assert "Send this? [y/N]: n" in done.output
    assert not (tmp_path / "site" / "consent.json").exists()
    assert not (tmp_path / "site" / "supernode.log").exists()
    assert stat.S_IMODE((tmp_path / "site" / "node.key").stat().st_mode) == 0o600


@pytest.mark.parametrize("mode", ["min-cell", "secure-sum"])
def test_what_leaves_is_counted_in_the_sites_own_mode_and_asked_for_anew(tmp_path, scores, mode):
    invited(tmp_path, scores)
    done = join(tmp_path, scores, "--mode", mode, answer="n\n")
    site = Site("north", tmp_path, invitation_of(tmp_path), scores, {"mode": mode})
    size = site.leaving(scored(b"kit-one!"))
    assert f"a profile of {size} bytes (counts and sums for 3 classes, mode {mode}" in done.output
    site.consent(scored(b"kit-one!"))
    assert site.consented(scored(b"kit-one!"))
    assert not Site("north", tmp_path, site.invitation, scores).consented(scored(b"kit-one!"))


def test_the_size_that_is_asked_for_is_the_size_that_leaves():
    file, keys = scored(b"kit-one!"), [X25519PrivateKey.generate() for _ in range(3)]
    roster = Roster.of(bytes(32), 1, [public_of(key) for key in keys], [])
    for mode in MODES:
        terms = Terms.of(mode)
        masks = {"key": keys[0], "roster": roster} if terms.masked else {}
        message = share(file.scores, file.labels, 3, terms, b"kit-one!", **masks)
        assert size_of(file, terms, 3) == len(message), mode


def test_noise_without_a_ledger_is_refused_before_the_site_connects(tmp_path, scores):
    invited(tmp_path, scores)
    done = join(tmp_path, scores, "--mode", "local-dp", "--yes")
    assert done.exit_code == 5
    assert "make one with scope keys new" in done.output


def test_a_server_that_does_not_answer_is_said_to_and_waited_for(tmp_path, scores):
    pytest.importorskip("flwr")
    invited(tmp_path, scores, f"127.0.0.1:{free_port()}")
    done = join(tmp_path, scores, "--wait", 0, "--yes")
    assert done.exit_code == 5
    assert "does not answer; ask the coordinator whether its scope serve runs" in done.output


def test_a_site_is_refused_before_it_connects(tmp_path, scores):
    invited(tmp_path, scores)
    other = tmp_path / "other.parquet"
    write_scores(scored(b"kit-two!"), other)
    done = join(tmp_path, other, "--yes")
    assert done.exit_code == 4
    assert "must be made with the coordinator's kit" in done.output
    site = tmp_path / "site.toml"
    site.write_text("[limits]\nlargest = 1\n")
    done = join(tmp_path, scores, "--limits", site, "--yes")
    assert done.exit_code == 2
    assert "has no setting 'largest'" in done.output
    done = join(tmp_path, scores, "-c", "site=south", "--yes")
    assert done.exit_code == 2
    assert "must be KEY=VALUE with a key of the app" in done.output
    assert join(tmp_path, scores, "-c", "mode=open", "--yes").exit_code == 2
    invitation = tmp_path / "coordinator" / "invitation.json"
    done = run("join", invitation, "--site", "mars", "--scores", scores, "--yes")
    assert done.exit_code == 2
    assert "one of the invited (north, south), got 'mars'" in done.output


def test_only_an_invited_sites_key_is_admitted(tmp_path, scores):
    folder = invited(tmp_path, scores)
    join(tmp_path, scores, answer="n\n")
    key = tmp_path / "site" / "north.pub"
    assert "north is admitted" in run("admit", folder, key).output
    assert (folder / "sites" / "north.pub").read_bytes() == key.read_bytes()
    assert run("admit", folder, key).exit_code == 0
    strange = key.rename(tmp_path / "mars.pub")
    assert "got 'mars'" in run("admit", folder, strange).output
    broken = tmp_path / "south.pub"
    broken.write_text("not a key")
    assert "must be the .pub file" in run("admit", folder, broken).output
