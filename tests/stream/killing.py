"""Kill `scope watch` at random moments while images come: python -m tests.stream.killing KILLS ...

One process imports everything once and forks a child a run, so that a run takes no longer than its
work. After every kill the state must open, and its sums be those of its rows; in the end nothing
may be lost or counted twice, and the coreset be the batch's over the same images.
"""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import scopefl.stream.watching
from scopefl.cli.main import scope
from scopefl.core import attacks
from scopefl.core.profile import Profile
from scopefl.stream.ledger import check_sums, profile_of, rows_where
from scopefl.stream.state import State
from tests.stream.sites import batch, command, put, saved_kit
from tests.vision import small
from tests.vision.killing import LOADED, ended

LOADED = (*LOADED, scopefl.stream.watching)
A_KILL = 12
"""Images that come between two kills."""


def start(arguments: list[str]) -> int:
    child = os.fork()
    if child:
        return child
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    try:
        scope.main(arguments, prog_name="scope")
    except SystemExit as done:
        # Not by the way of a new process: what the parent's libraries started is not here.
        os._exit(int(done.code or 0))
    os._exit(99)


def arrive(images: Path, numbers: range) -> None:
    for number in numbers:
        put(images, f"{small.CLASSES[number % 9 // 4]}/{number:05}.png", number)


def check(work: Path, told: list[Profile]) -> None:
    """Open what a killed watch has left, and read what it published."""
    if (work / "state" / "stream.db").exists():
        with State(work / "state") as state:
            check_sums(state)
    if (work / "site.profile").exists():
        told.append(Profile.from_bytes((work / "site.profile").read_bytes()))


def main(kills: int, work: Path) -> dict[str, int]:
    kit, images, rng, told = saved_kit(work / "kit"), work / "site", random.Random(0), []
    arguments = command(images, work, kit, "--once", "--publish", work / "site.profile")
    arrive(images, range(A_KILL))
    began = time.monotonic()
    assert ended(start(arguments)) == 0
    lasts, killed = time.monotonic() - began, 0
    for number in range(1, kills + 1):
        arrive(images, range(number * A_KILL, (number + 1) * A_KILL))
        child = start(arguments)
        time.sleep(rng.uniform(0, lasts))
        os.kill(child, signal.SIGKILL)
        killed += ended(child) == -signal.SIGKILL
        check(work, told)
    assert ended(start(arguments)) == 0
    check(work, told)
    with State(work / "state") as state:
        rows = rows_where(state, "key is not null")
        published = profile_of(rows_where(state, "told is not null"), state.n_classes)
    return {
        "killed": killed,
        "images": (kills + 1) * A_KILL,
        "counted": len(rows),
        "coreset differs": (work / "stream.parquet").read_bytes() != batch(images, work),
        "published differs": published != told[-1],
        "told apart": sum(len(one.rs) for one in attacks.between(told)),
    }


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        print(main(int(sys.argv[1]), Path(folder)))
    shutil.rmtree(folder, ignore_errors=True)
