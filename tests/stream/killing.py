"""Kill `scope watch` while images come: python -m tests.stream.killing KILLS [real].

One process imports everything once and forks a child a run, so that a run takes no longer than its
work. After every kill the state must open, and its sums be those of its rows; in the end nothing
may be lost or counted twice, and the coreset be the batch's over the same images. `real` asks it of
the images of `scope demo`, in random order, and of the offline encoder.
"""

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

import scopefl.stream.watching
from scopefl.cli.main import scope
from scopefl.core import attacks
from scopefl.core.profile import Profile
from scopefl.data.demo_images import demo_images
from scopefl.stream.ledger import check_sums, profile_of, rows_where
from scopefl.stream.state import State
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.kit import OFFLINE, Kit
from tests.stream.sites import KIT, batch, command, put, saved_kit
from tests.vision import small
from tests.vision.killing import LOADED, ended, killed_within

LOADED = (*LOADED, scopefl.stream.watching)
Put = Callable[[Path, int], None]
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


def tiny(work: Path) -> tuple[Kit, list[object], Put]:
    def arrive(images: Path, number: int) -> None:
        put(images, f"{small.CLASSES[number % 9 // 4]}/{number:05}.png", number)

    return KIT, [saved_kit(work / "kit")], arrive


def real(work: Path) -> tuple[Kit, list[object], Put]:
    found = demo_images(None, cache_folder() / "data", print)
    order = np.random.default_rng(0).permutation(len(found.labels)).tolist()
    (work / "classes.txt").write_text("\n".join(found.classes))

    def arrive(images: Path, number: int) -> None:
        place = order[number]
        path = images / found.classes[found.labels[place]] / f"{place:05}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.asarray(found.images[place])).save(path)

    kit = Kit.load(OFFLINE, found.classes)
    return kit, [OFFLINE, "--classes", work / "classes.txt"], arrive


def check(work: Path, told: list[Profile]) -> None:
    """Open what a killed watch has left, and read what it published."""
    if (work / "state" / "stream.db").exists():
        with State(work / "state") as state:
            check_sums(state)
    if (work / "site.profile").exists():
        told.append(Profile.from_bytes((work / "site.profile").read_bytes()))


def main(kills: int, work: Path, site: Callable[[Path], tuple[Kit, list[object], Put]]) -> dict:
    kit, flags, arrive = site(work)
    images, rng, told = work / "site", random.Random(0), []
    publish = ("--publish", work / "site.profile")
    arguments = command(images, work, *flags, "--once", *publish)

    def come(turn: int) -> None:
        for number in range(turn * A_KILL, (turn + 1) * A_KILL):
            arrive(images, number)

    come(0)
    began = time.monotonic()
    assert ended(start(arguments)) == 0
    lasts, killed, turn = time.monotonic() - began, 0, 0
    while killed < kills:
        turn += 1
        come(turn)
        if killed_within(start(arguments), lasts, rng):
            killed += 1
        else:
            lasts *= 0.8  # it was done before the kill
        check(work, told)
    assert ended(start(arguments)) == 0
    check(work, told)
    with State(work / "state") as state:
        rows = rows_where(state, "key is not null")
        published = profile_of(rows_where(state, "told is not null"), state.n_classes)
    whole = batch(images, work, kit=kit)
    return {
        "killed": killed,
        "images": (turn + 1) * A_KILL,
        "counted": len(rows),
        "coreset differs": (work / "stream.parquet").read_bytes() != whole,
        "published differs": published != told[-1],
        "told apart": sum(len(one.rs) for one in attacks.between(told)),
    }


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        print(main(int(sys.argv[1]), Path(folder), real if "real" in sys.argv else tiny))
