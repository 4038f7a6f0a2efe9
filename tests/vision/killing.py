"""Kill `scope score` again and again at random moments: python -m tests.vision.killing ROUNDS ...

One process imports everything once and forks a child a run, so that a run takes no longer than its
work. Goes on until ROUNDS were killed; prints how many files differ from that of an unbroken run.
"""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import numpy
import onnxruntime
import PIL.Image
import pyarrow.parquet

import scopefl.cli.score
import scopefl.data.folder
import scopefl.federation.by_file
import scopefl.vision.scoring
from scopefl.cli.main import scope

MOST = 5
"""Runs for each kill that is wanted: some end before their moment."""
LOADED = (numpy, onnxruntime, PIL.Image, pyarrow.parquet, scopefl)


def start(images: Path, kit: Path, cache: Path, out: Path) -> int:
    child = os.fork()
    if child:
        return child
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    flags = ["--kit", kit, "--runtime", "onnxruntime", "--cache", cache, "-o", out]
    try:
        scope.main([str(each) for each in ("score", images, *flags)], prog_name="scope")
    except SystemExit as done:
        # Not by the way of a new process: what the parent's libraries started is not here.
        os._exit(int(done.code or 0))
    os._exit(99)


def ended(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def killed_within(child: int, seconds: float, rng: random.Random) -> bool:
    """Kill a child at a random moment; say whether it was still at work."""
    time.sleep(rng.uniform(0, seconds))
    os.kill(child, signal.SIGKILL)
    return ended(child) == -signal.SIGKILL


def main(rounds: int, images: Path, kit: Path, work: Path) -> None:
    began = time.monotonic()
    assert ended(start(images, kit, work / "cache", work / "whole.parquet")) == 0
    lasts = time.monotonic() - began
    whole = (work / "whole.parquet").read_bytes()
    rng = random.Random(0)
    killed = different = number = 0
    while killed < rounds and number < MOST * rounds:
        number += 1
        cache, out = work / f"cache-{number}", work / f"{number}.parquet"
        child = start(images, kit, cache, out)
        if killed_within(child, lasts, rng):
            killed += 1
        else:
            lasts *= 0.8  # it was done before the kill
        assert ended(start(images, kit, cache, out)) == 0
        different += out.read_bytes() != whole
        shutil.rmtree(cache)
    print(f"killed {killed} of {number}, different {different}")


if __name__ == "__main__":
    main(int(sys.argv[1]), *map(Path, sys.argv[2:]))
