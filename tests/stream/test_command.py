"""`scope watch` and `scope forget` as commands, in real processes on real files."""

import json
import os
import signal
import subprocess
import sys

import pytest

from scopefl.data.coreset_file import read_coreset
from tests.stream.sites import batch, command, lines, put, run, saved_kit
from tests.vision import small


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    return saved_kit(tmp_path_factory.mktemp("kits") / "tiny")


@pytest.fixture
def images(tmp_path):
    for number in range(30):
        put(tmp_path / "site", f"{small.CLASSES[number % 3]}/{number:03}.png", number)
    return tmp_path / "site"


def test_watching_once_tells_of_checkpoints_in_json_and_writes_the_coreset(kit, images, tmp_path):
    found = run(*command(images, tmp_path, kit, "--once", "--each"))
    assert found.exit_code == 0, found.output
    told = lines(found.output)
    assert sum(one["event"] == "arrival" for one in told) == 30
    assert sum(told[-1]["fates"].values()) == 30
    fates = {one["id"]: one["fate"] for one in told if "id" in one}
    coreset = read_coreset(tmp_path / "stream.parquet").table
    # Who follows every line ends with the coreset, too.
    assert fates == dict(zip(*(coreset[name].to_pylist() for name in ("id", "fate")), strict=True))
    assert sum(one["event"] == "revision" for one in told) >= told[-1]["revised"] > 0
    assert (tmp_path / "stream.parquet").read_bytes() == batch(images, tmp_path)


def test_what_is_forgotten_is_out_of_the_sums_and_never_taken_again(kit, images, tmp_path):
    assert run(*command(images, tmp_path, kit, "--once")).exit_code == 0
    forgotten = run("forget", "--state", tmp_path / "state", "cat/000.png", "--class", "eel")
    assert forgotten.exit_code == 0, forgotten.output
    assert "11 images forgotten, 19 left in the profile" in forgotten.output
    put(images, "cat/000.png", 999)
    found = run(*command(images, tmp_path, kit, "--once", "--each"))
    assert not [one for one in lines(found.output) if one["event"] == "arrival"]
    ids = read_coreset(tmp_path / "stream.parquet").table["id"].to_pylist()
    (images / "cat/000.png").unlink()
    for path in (images / "eel").iterdir():
        path.unlink()
    assert (tmp_path / "stream.parquet").read_bytes() == batch(images, tmp_path)
    assert len(ids) == 19


def test_an_unknown_id_is_refused_and_nothing_is_forgotten(kit, images, tmp_path):
    assert run(*command(images, tmp_path, kit, "--once")).exit_code == 0
    found = run("forget", "--state", tmp_path / "state", "cat/000.png", "cat/nothing.png")
    assert found.exit_code == 2
    assert "the stream holds no 'cat/nothing.png'; nothing was forgotten" in found.output
    found = run("forget", "--state", tmp_path / "state", "--class", "catt")
    assert "did you mean 'cat'?" in found.output
    assert "29 left" in run("forget", "--state", tmp_path / "state", "cat/000.png").output


def test_forgetting_without_names_or_without_a_state_is_one_sentence(tmp_path):
    assert run("forget", "--state", tmp_path).exit_code == 2
    found = run("forget", "--state", tmp_path, "cat/000.png")
    assert "holds no state of scope watch" in found.output


@pytest.mark.slow
def test_a_running_watch_heeds_forgetting_and_ends_with_a_checkpoint(kit, images, tmp_path):
    running = subprocess.Popen(
        [sys.executable, "-m", "scopefl", *command(images, tmp_path, kit)],
        stdout=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip

    def until(counted):
        for line in running.stdout:
            if line.startswith("{") and json.loads(line).get("counted") == counted:
                return

    try:
        until(30)
        assert run("forget", "--state", tmp_path / "state", "cat/000.png").exit_code == 0
        until(29)
        put(images, "cat/last.png", 701)
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 0
    finally:
        running.kill()
        running.stdout.close()
    (images / "cat/000.png").unlink()
    assert run(*command(images, tmp_path, kit, "--once")).exit_code == 0
    assert (tmp_path / "stream.parquet").read_bytes() == batch(images, tmp_path)


def test_fewer_than_five_images_are_never_told_apart(kit, images, tmp_path):
    flags = ("--publish", tmp_path / "p", "--least", "4")
    found = run(*command(images, tmp_path, kit, *flags))
    assert found.exit_code == 2
    assert "4 is not in the range x>=5" in found.output
