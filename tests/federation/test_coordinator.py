"""The folders of the coordinator and of a site, by the commands people type."""

import stat

import numpy as np
import pytest
from click.testing import CliRunner

from scopefl.cli.main import scope
from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile, write_scores

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


def invited(tmp_path, scores):
    folder = tmp_path / "coordinator"
    done = run(
        "invite",
        folder,
        "--address",
        "127.0.0.1:8443",
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
    assert f"a profile of {size} bytes (counts and sums for 3 classes)" in done.output
    assert "Send this? [y/N]: n" in done.output
    assert not (tmp_path / "site" / "consent.json").exists()
    assert not (tmp_path / "site" / "supernode.log").exists()
    assert stat.S_IMODE((tmp_path / "site" / "node.key").stat().st_mode) == 0o600


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
