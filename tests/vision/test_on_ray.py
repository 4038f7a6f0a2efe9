"""Ray's actors write what one process writes, and what they are told wrong is one sentence."""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow as pa
import pytest

from scopefl.data.opening import open_source
from scopefl.data.rules import DecodingRules
from scopefl.errors import ScopeError
from scopefl.vision.on_ray import Embedder, Task
from scopefl.vision.ray_cluster import Fleet, room_for, started
from scopefl.vision.scoring import embed_source, with_rules
from tests.vision import small

ROOT = Path(__file__).parents[2]
RULES = DecodingRules()
KIT = with_rules(small.kit(), RULES, "onnxruntime")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    work = tmp_path_factory.mktemp("site")
    images = small.folder(work / "images", 100)
    (images / "dog" / "page.png").write_bytes(b"<html>")
    small.kit().save(work / "kit")
    return work


def score(site, out, *flags, **environment):
    command = [sys.executable, "-m", "scopefl", "score", "images", "--kit", "kit"]
    command += ["--runtime", "onnxruntime", "--max-quarantined", "1", "-o", out, *flags]
    paths = os.pathsep.join([str(ROOT / "src"), str(ROOT)])
    return subprocess.Popen(
        [str(word) for word in command], cwd=site, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": paths, "OMP_NUM_THREADS": "1", **environment},
    )  # fmt: skip


def ended(started):
    out, err = started.communicate(timeout=200)
    assert "Traceback" not in err, err
    return started.returncode, out + err


def task_of(images, cache, **changes):
    cache.mkdir(exist_ok=True)
    mark = cache / "mark"
    mark.touch()
    given = {
        "source": open_source(images), "kit": KIT, "rules": RULES, "folder": cache,
        "runtime": "onnxruntime", "threads": 1, "size": 5, "mark": mark,
    }  # fmt: skip
    return Task(**{**given, **changes})


def test_an_actor_gives_each_stretch_whatever_the_order_of_its_tasks(tmp_path):
    images = small.folder(tmp_path / "images", 4)
    task = task_of(images, tmp_path / "cache")
    assert task.parts == 3
    actor = Embedder(lambda: task)
    rows = [row for part in (1, 2, 0, 0) for row in actor(pa.table({"item": [part]})).to_pylist()]
    alone = embed_source(task.source, KIT, RULES, tmp_path / "alone", runtime="onnxruntime")
    expected = [(one.id, one.key) for one in alone.outcomes]
    places = [5, 6, 7, 8, 9, 10, 11, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4]
    assert [(row["id"], row["key"]) for row in rows] == [expected[place] for place in places]
    assert [row["part"] for row in rows] == [place // 5 for place in places]


def test_a_cache_that_an_actor_does_not_see_is_refused(tmp_path):
    images = small.folder(tmp_path / "images", 1)
    task = task_of(images, tmp_path / "cache", mark=tmp_path / "elsewhere")
    with pytest.raises(ScopeError, match="must be one folder for all machines, and .* --cache"):
        Embedder(lambda: task)(pa.table({"item": [0]}))


@pytest.mark.parametrize(
    ("fleet", "there", "found"),
    [
        (Fleet(), {"CPU": 6.0}, 6),
        (Fleet(cpus=4), {"CPU": 6.0}, 1),
        (Fleet(2, gpus=0.5), {"CPU": 6.0, "GPU": 1.0}, 2),
        (Fleet(gpus=1), {"CPU": 6.0, "GPU": 2.0}, 2),
    ],
)
def test_as_many_actors_start_as_there_is_room_for(fleet, there, found):
    assert room_for(fleet, there) == found


@pytest.mark.parametrize("fleet", [Fleet(7), Fleet(cpus=8), Fleet(gpus=1), Fleet(2, cpus=4)])
def test_actors_without_room_are_refused_rather_than_waited_for(fleet):
    with pytest.raises(ScopeError, match="workers need .* and Ray has 6 and 0; ask for fewer"):
        room_for(fleet, {"CPU": 6.0})


@pytest.mark.slow
def test_actors_killed_with_and_without_their_driver_end_with_the_same_file(site, tmp_path):
    assert ended(score(site, tmp_path / "one", "--cache", tmp_path / "alone"))[0] == 0
    flags = ("--engine", "ray", "--workers", "2", "--cache", tmp_path / "cache")
    first = score(site, tmp_path / "ray", *flags)
    actors = at_first_shard(first, tmp_path / "cache")
    ray = psutil.Process(first.pid).children(recursive=True)
    first.kill()
    first.communicate(timeout=60)
    assert not psutil.wait_procs(actors, timeout=60)[1]
    for one in ray:  # its logs and agents go of themselves, but later
        with suppress(psutil.NoSuchProcess):
            one.kill()
    left = shards(tmp_path / "cache")
    assert left
    assert not (tmp_path / "ray").exists()
    for shard in left[1:]:
        shard.unlink()
    again = score(site, tmp_path / "ray", *flags)
    at_first_shard(again, tmp_path / "cache", len(left[:1]))[0].send_signal(signal.SIGKILL)
    code, said = ended(again)
    assert code == 0, said
    assert "300 scored, 1 quarantined" in said
    assert (tmp_path / "ray").read_bytes() == (tmp_path / "one").read_bytes()


def shards(cache):
    return sorted((cache / "embeddings").glob("*/*.records"))


def at_first_shard(started, cache, before=0):
    """Wait until actors have put a shard on disk; give them."""
    while len(shards(cache)) <= before:
        assert started.poll() is None, started.communicate()
        time.sleep(0.002)
    below = psutil.Process(started.pid).children(recursive=True)
    return [one for one in below if one.name().startswith("ray::MapWorker")]


@pytest.mark.parametrize(
    ("address", "sentence"),
    [
        ("127.0.0.1:1", "RAY_ADDRESS 127.0.0.1:1 does not answer: .*refused"),
        ("ray://head:10001", "RAY_ADDRESS must be HOST:PORT or auto, got 'ray://head:10001'"),
        ("head", "RAY_ADDRESS must be HOST:PORT or auto, got 'head'"),
    ],
)
def test_a_cluster_that_is_not_there_is_refused_at_once(monkeypatch, address, sentence):
    monkeypatch.setenv("RAY_ADDRESS", address)
    with pytest.raises(ScopeError, match=sentence), started():
        pass
