"""Real Flower processes: the simulation, and a server with three sites, TLS and keys on loopback.

Every process is started here, on a free port, and stopped here, by its id.
"""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import psutil
import pytest

pytest.importorskip("flwr")
pytest.importorskip("ray")

from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile, write_scores
from scopefl.federation.launch import LOCAL, free_port
from scopefl.federation.new_app import new_app

SITES = ("north", "south", "west")
CLASSES = tuple(f"class-{c}" for c in range(10))
SCOPE = [sys.executable, "-m", "scopefl"]


@pytest.fixture(scope="session")
def app(tmp_path_factory) -> Path:
    """Write the app of `scope flower new`, with the mod of faults.py outermost."""
    folder = tmp_path_factory.mktemp("app") / "app"
    new_app(folder)
    shutil.copy(Path(__file__).with_name("faults.py"), folder / "scope_app" / "faults.py")
    client = folder / "scope_app" / "client_app.py"
    code = client.read_text()
    changed = code.replace("from . import task", "from . import faults, task")
    changed = changed.replace("mods=[scope.mod]", "mods=[faults.mod, scope.mod]")
    assert changed.count("faults") == 2
    client.write_text(changed)
    project = folder / "pyproject.toml"
    names = [*SITES, *map(str, range(10))]
    project.write_text(project.read_text() + "".join(f'fault-{name} = ""\n' for name in names))
    return folder


@dataclass
class Ended:
    """How a `scope flower run` ended, and what it wrote."""

    code: int
    text: str
    out: Path

    @property
    def policy(self) -> bytes:
        return (self.out / "policy.scope").read_bytes()

    @property
    def result(self) -> dict:
        return json.loads((self.out / "result.json").read_text())

    def ids(self, site: str) -> list[str]:
        return json.loads((self.out / f"ids-{site}.json").read_text())


@dataclass
class Running:
    """A `scope` command under way: its log, and everything it started."""

    arguments: list[str]
    log: Path
    before: tuple[str, ...] = ()
    process: subprocess.Popen = field(init=False)

    def __post_init__(self) -> None:
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [*self.before, *SCOPE, *self.arguments], stdout=log, stderr=log
            )

    def wait_for(self, pattern: str, patience: float = 200.0) -> None:
        deadline = time.monotonic() + patience
        while not re.search(pattern, self.text):
            assert self.process.poll() is None, self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.2)

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def ended(self, patience: float = 250.0) -> int:
        return self.process.wait(patience)

    def kill(self) -> None:
        """Let its machine lose power: everything it started is killed at once."""
        if self.process.poll() is not None:
            return
        tree = [*psutil.Process(self.process.pid).children(recursive=True), self.process]
        for one in tree:
            with contextlib.suppress(psutil.NoSuchProcess):
                one.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def stop(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(15)
            except subprocess.TimeoutExpired:
                self.kill()


@pytest.fixture(scope="session")
def scope_run(app, tmp_path_factory):
    """Run the app by `scope flower run`; give how it ended."""

    def start(*arguments: str, before: tuple[str, ...] = ()) -> tuple[Running, Path]:
        folder = tmp_path_factory.mktemp("run")
        given = ["flower", "run", str(app), "--out", str(folder / "out"), *arguments]
        return Running(given, folder / "log", before), folder / "out"

    def run(*arguments: str, before: tuple[str, ...] = ()) -> Ended:
        running, out = start(*arguments, before=before)
        try:
            return Ended(running.ended(), running.text, out)
        finally:
            running.stop()

    return SimpleNamespace(start=start, run=run, ended=Ended)


@dataclass
class Deployment:
    """A server and its sites, each a process of its own."""

    folder: Path
    port: int
    server: Running | None = None
    sites: dict[str, Running] = field(default_factory=dict)

    @property
    def coordinator(self) -> Path:
        return self.folder / "coordinator"

    def scores(self, site: str) -> Path:
        return self.folder / f"{site}.parquet"

    def serve(self) -> None:
        serve = ["serve", str(self.coordinator), "--host", LOCAL]
        self.server = Running(serve, self.folder / "serve.log")
        self.server.wait_for("serving with TLS")

    def revive(self) -> None:
        """Start again what an earlier test stopped."""
        if self.server is None or self.server.process.poll() is not None:
            self.serve()
        for site, running in self.sites.items():
            if running.process.poll() is not None:
                self.sites[site] = self.join(site)
                self.sites[site].wait_for("is connected")

    def join(self, site: str, *more: str, wait: str = "120") -> Running:
        arguments = ["join", str(self.coordinator / "invitation.json"), "--site", site]
        arguments += ["--scores", str(self.scores(site)), "--folder", str(self.folder / site)]
        arguments += ["-c", f"embeddings={self.folder / site}.npy", "--wait", wait, "--yes"]
        return Running([*arguments, *map(str, more)], self.folder / f"{site}.log")


@pytest.fixture(scope="module")
def deployment(request, tmp_path_factory) -> Iterator[Deployment]:
    """Invite three sites, serve, let them join, admit them: three sites on loopback, with TLS.

    A parameter, called with folder and site, gives more arguments for a site to join with.
    """
    folder = tmp_path_factory.mktemp("deployment")
    write_sites(folder)
    more = getattr(request, "param", lambda *_: ())
    port = free_port()
    scope(
        "invite",
        folder / "coordinator",
        "--address",
        f"{LOCAL}:{port}",
        "--sites",
        ",".join(SITES),
        "--scores",
        folder / "north.parquet",
    )
    made = Deployment(folder, port)
    try:
        for site in SITES:
            coreset = ("--coreset", str(folder / f"{site}-coreset.parquet"))
            made.sites[site] = made.join(site, *coreset, *more(folder, site))
        made.serve()
        for site in SITES:
            made.sites[site].wait_for("is connecting")
        keys = [folder / site / f"{site}.pub" for site in SITES]
        scope("admit", folder / "coordinator", *keys)
        for running in made.sites.values():
            running.wait_for("is connected")
        yield made
    finally:
        for running in (*made.sites.values(), made.server):
            if running is not None:
                running.stop()


def scope(*arguments: object) -> str:
    done = subprocess.run(
        [*SCOPE, *map(str, arguments)], check=True, capture_output=True, env=dict(os.environ)
    )
    return done.stdout.decode()


def write_sites(folder: Path) -> None:
    centres = np.linalg.qr(np.random.default_rng(9).standard_normal((64, 64)))[0][:10]
    for seed, site in enumerate(SITES):
        rng = np.random.default_rng(seed)
        labels = rng.integers(0, 10, 200)
        images = centres[labels] + 0.2 * rng.standard_normal((200, 64))
        images = (images / np.linalg.norm(images, axis=1, keepdims=True)).astype(np.float32)
        np.save(folder / f"{site}.npy", images)
        ids = [f"{site}-{row}" for row in range(len(labels))]
        found = score(images, centres, labels)
        file = ScoresFile.of(found, labels, CLASSES, b"kit-one!", ids=ids)
        write_scores(file, folder / f"{site}.parquet")
