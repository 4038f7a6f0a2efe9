"""HDF5 files that grow: read beside their writer, and a Python program's own images."""

import os
import signal
import subprocess
import sys

import pytest

from scopefl.errors import ScopeError
from scopefl.stream.events import Arrival, Clock
from scopefl.stream.forgetting import forget
from scopefl.stream.watching import Pace, open_arrivals, watch
from tests.stream.sites import batch, command, lines, picture, run, saved_kit, stream
from tests.vision import small

h5py = pytest.importorskip("h5py")
WRITER = """
import sys, time, h5py
from tests.stream.test_arrays import append, create
path, start, end, pause = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4])
with (create(path) if start == 0 else h5py.File(path, "a", libver="latest")) as file:
    file.swmr_mode = True
    for number in range(start, end):
        append(file, number)
        time.sleep(pause)
        print(number, flush=True)
    sys.stdin.read()
"""


def create(path):
    file = h5py.File(path, "w", libver="latest")
    rows = {"chunks": (1, 16, 16, 3), "maxshape": (None, 16, 16, 3)}
    file.create_dataset("entry/data", (0, 16, 16, 3), "u1", **rows)
    file.create_dataset("entry/kind", (0,), "S8", chunks=(16,), maxshape=(None,))
    return file


def append(file, number):
    pictures, kinds = file["entry/data"], file["entry/kind"]
    pictures.resize(number + 1, axis=0)
    pictures[number] = picture(number)
    pictures.flush()
    kinds.resize(number + 1, axis=0)
    kinds[number] = small.CLASSES[number % 3].encode()
    kinds.flush()


def finished(path, n):
    with create(path) as file:
        for number in range(n):
            append(file, number)
    return path


NAMES = {"array": "entry/data", "label_array": "entry/kind"}


def looked(path, opened, settle=0.0, **pace):
    arrivals = open_arrivals(path, opened, settle, **NAMES)
    return list(watch(arrivals, opened, Pace(0.01, settle, 0.0, once=True, **pace)))


def arrived(events):
    return [one.id for one in events if isinstance(one, Arrival)]


@pytest.fixture
def writer():
    started = []

    def start(path, first, last, pause=0.0):
        arguments = [sys.executable, "-c", WRITER, path, first, last, pause]
        started.append(
            subprocess.Popen(
                [str(one) for one in arguments],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            )
        )  # fmt: skip
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


def until(process, number):
    while int(process.stdout.readline()) < number:
        pass


@pytest.mark.slow
def test_a_file_is_read_while_its_writer_appends_and_ends_with_the_batch(tmp_path, writer):
    path = tmp_path / "run.h5"
    process = writer(path, 0, 45, 0.01)
    until(process, 5)
    seen = []
    for _ in range(20):
        with stream(tmp_path) as opened:
            seen += arrived(looked(path, opened, settle=0.05))
        if len(seen) == 45:
            break
    assert seen == [f"entry/data/{number:08}" for number in range(45)]
    process.kill()
    process.wait()
    # The writer died and left its mark in the file; readers do not mind.
    with stream(tmp_path) as opened:
        assert arrived(looked(path, opened)) == []
    assert (tmp_path / "stream.parquet").read_bytes() == batch(path, tmp_path, **NAMES)


@pytest.mark.slow
def test_the_command_watches_a_file_that_another_process_writes(tmp_path, writer):
    path, kit = tmp_path / "run.h5", saved_kit(tmp_path / "kit")
    process = writer(path, 0, 30)
    until(process, 29)
    names = ("--array", "entry/data", "--label-array", "entry/kind")
    found = run(*command(path, tmp_path, kit, "--once", "--each", *names))
    assert found.exit_code == 0, found.output
    assert sum(one["event"] == "arrival" for one in lines(found.output)) == 30
    process.send_signal(signal.SIGINT)


def test_pictures_wait_until_they_have_been_there_for_a_while(tmp_path):
    path, now = finished(tmp_path / "run.h5", 4), [0.0]
    with stream(tmp_path, clock=Clock(steady=lambda: now[0])) as opened:
        arrivals = open_arrivals(path, opened, 5.0, **NAMES)
        assert list(arrivals.still()) == []
        assert arrivals.moving == 4
        with h5py.File(path, "a", libver="latest") as file:
            append(file, 4)
        now[0] = 4.9
        assert list(arrivals.still()) == []
        now[0] = 5.0
        assert [one.item.id[-1] for one in arrivals.still()] == list("0123")
        assert arrivals.moving == 1
        now[0] = 9.9
        assert [one.item.id[-1] for one in arrivals.still()] == ["4"]


def test_a_picture_without_its_label_has_not_come_yet(tmp_path):
    path = finished(tmp_path / "run.h5", 6)
    with h5py.File(path, "a", libver="latest") as file:
        file["entry/kind"].resize(4, axis=0)
    with stream(tmp_path) as opened:
        assert len(arrived(looked(path, opened))) == 4
    with h5py.File(path, "a", libver="latest") as file:
        file["entry/kind"].resize(6, axis=0)
        file["entry/kind"][4:] = b"cat"
    with stream(tmp_path) as opened:
        assert len(arrived(looked(path, opened))) == 2


def test_a_file_that_shrank_or_another_file_is_not_taken_for_the_one_before(tmp_path):
    path = finished(tmp_path / "run.h5", 6)
    with stream(tmp_path) as opened:
        assert len(arrived(looked(path, opened))) == 6
    finished(path, 3)
    with stream(tmp_path) as opened:
        (trouble,) = [
            one
            for one in looked(path, opened)
            if hasattr(one, "sentence") and "must only grow" in one.sentence
        ]
        assert "6 pictures were taken from it, and it holds 3" in trouble.sentence
        other = finished(tmp_path / "next.h5", 3)
        with pytest.raises(ScopeError, match=r"follows run\.h5; give next\.h5 a --state"):
            looked(other, opened)


def test_what_was_forgotten_of_an_array_stays_forgotten(tmp_path):
    path = finished(tmp_path / "run.h5", 6)
    with stream(tmp_path) as opened:
        looked(path, opened)
        forget(opened.state, ["entry/data/00000005"])
    with stream(tmp_path) as opened:
        assert arrived(looked(path, opened)) == []
        assert opened.state.profile.count.sum() == 5


def test_what_is_no_hdf5_file_yet_is_told_of_and_read_later(tmp_path):
    path = tmp_path / "run.h5"
    path.write_bytes(b"")
    with stream(tmp_path) as opened:
        assert "cannot be opened as HDF5" in looked(path, opened)[0].sentence
    finished(path, 3)
    with stream(tmp_path) as opened:
        assert len(arrived(looked(path, opened))) == 3


def test_other_collections_are_refused_with_what_may_be_watched(tmp_path):
    with stream(tmp_path) as opened, pytest.raises(ScopeError, match="a folder of class folders"):
        open_arrivals(tmp_path / "table.csv", opened)
