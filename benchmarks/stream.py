"""What watching costs beside the batch: `python -m benchmarks.stream [rate] [state]`.

rate   JPEGs of 500 pixels on disk to a coreset by the offline encoder: `scope watch --once` against
       `scope score`, `profile`, `merge` and `select` over the same images. The sides take turns,
       each with a cache of its own.
state  the bytes of a state on disk: per class, all of whose books are full; per image of the store;
       per image whose file still lies there and that is only counted. And what a checkpoint of so
       many images takes.
"""

import argparse
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.measure import machine, peak_mb, verdict
from benchmarks.scoring import RULES, photographs, seconds
from scopefl.core.policy import agree
from scopefl.core.profile import Profile
from scopefl.core.terms import OPEN
from scopefl.data.cifar10 import CLASSES
from scopefl.data.coreset_file import write_coreset
from scopefl.data.opening import open_source
from scopefl.federation.by_file import Rule, coreset
from scopefl.stream.arrivals import Given
from scopefl.stream.books import publish
from scopefl.stream.ledger import Row, enter
from scopefl.stream.state import FILE, Owner, State
from scopefl.stream.stream import Plan, Stream
from scopefl.stream.watching import Pace, open_arrivals, watch
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.kit import Kit
from scopefl.vision.scoring import embed_source, score_embedded, with_rules
from tests.vision import small

RULE = Rule("0.1", "0.5", prune_anyway=True)
GOAL_RATE, GOAL_BYTES = 0.9, 1024


def batch(images: Path, kit: Kit, work: Path) -> None:
    """Score and select once."""
    kit = with_rules(kit, RULES)
    embedded = embed_source(open_source(images), kit, RULES, work, runtime="onnxruntime")
    file, _ = score_embedded(embedded, RULES)
    agreement = agree([file.profile.to_bytes(kit.fingerprint)])
    write_coreset(coreset(file, agreement, RULE, "site"), work / "batch.parquet")


def streamed(images: Path, kit: Kit, work: Path) -> None:
    """Watch until all is still."""
    plan = Plan(RULE, "site", coreset=work / "stream.parquet")
    with Stream(
        work / "state", kit, plan, rules=RULES, cache=work, runtime="onnxruntime"
    ) as stream:
        pace = Pace(0.1, 0.0, once=True)
        for _ in watch(open_arrivals(images, stream, 0.0), stream, pace):
            pass


def rate(n: int, rounds: int, work: Path) -> None:
    """Print the rate of watching against that of the batch."""
    kit, images = Kit.load("offline", CLASSES), photographs(work / "photographs", n, CLASSES)
    sides: dict[str, list[tuple[float, float]]] = {"batch": [], "stream": []}
    for number in range(rounds):
        for name, run in (("batch", batch), ("stream", streamed)):
            folder = work / f"{name}-{number}"
            sides[name].append(seconds(partial(run, images, kit, folder)))
        one, other = (work / f"{s}-{number}" / f"{s}.parquet" for s in ("batch", "stream"))
        if one.read_bytes() != other.read_bytes():
            raise SystemExit("the stream's coreset is not the batch's")
    wall, cpu = ({name: min(t[k] for t in found) for name, found in sides.items()} for k in (0, 1))
    print(f"offline encoder, {n} JPEGs of 500 pixels, least of {rounds} rounds; equal coresets")
    for name in sides:
        print(f"{name}: {n / wall[name]:.1f} images/s, {n / cpu[name]:.1f} a processor second")
    print(verdict("watch/batch, wall", wall["batch"] / wall["stream"], GOAL_RATE, at_most=False))
    print(verdict("watch/batch, cpu", cpu["batch"] / cpu["stream"], GOAL_RATE, at_most=False))


@contextmanager
def opened(folder: Path, n_classes: int) -> Iterator[State]:
    """Give a state of so many classes."""
    names = tuple(f"class {c}" for c in range(n_classes))
    with State(folder, Owner(b"8 bytes!", names)) as state:
        yield state


def rows(n: int, n_classes: int, start: int = 0) -> list[Row]:
    """Give rows of random scores under names such as instruments give."""
    rng = np.random.default_rng(start)
    scores = rng.uniform(0.1, 0.4, (n, 3)).tolist()
    return [
        Row(
            f"class_{k % n_classes:04}/2026-11-19T{k:09}.tif", None, k % n_classes,
            rng.bytes(16), rs, s_neg, (k + 1) % n_classes, chance, None, rng.bytes(8), k, 0, 0,
        )
        for k, (rs, s_neg, chance) in enumerate(scores, start=start)
    ]  # fmt: skip


def bytes_of_classes(folder: Path, n_classes: int) -> int:
    """Fill every book of every class, without an image that is stored, and give the file's size."""
    with opened(folder, n_classes) as state:
        square = np.full((3, n_classes), 10**12)
        whole = Profile(np.full(n_classes, 10**9), square, square)
        with state.change():
            state.profile = state.beyond = whole
            for told in (0, 1):
                state.tell(
                    "insert into beyond values (?, ?, 500000000)",
                    [(c, told) for c in range(n_classes)],
                )
            state.set_about("told", whole.to_bytes(b"8 bytes!"))
            state.tell("insert into leaving values (?, 1, 4)", [(c,) for c in range(n_classes)])
        return (folder / FILE).stat().st_size


def bytes_of_images(folder: Path, n: int) -> tuple[float, float]:
    """Give the bytes that a stored image takes, and one that is only counted."""
    with opened(folder, 10) as state:
        empty = (folder / FILE).stat().st_size
        with state.change():
            enter(state, rows(n, 10))
        stored = (folder / FILE).stat().st_size - empty
        publish(state, folder / "profile", OPEN)
        with state.change():
            state.tell("update images set stored = ?, path = null, chance = null", [(0,)])
        state.ask("vacuum")
        counted = (folder / FILE).stat().st_size - empty
    return stored / n, counted / n


def checkpoint(n: int, work: Path) -> None:
    """Print what a checkpoint of so many images takes."""
    plan = Plan(RULE, "site", coreset=work / "coreset.parquet")
    with Stream(work / "state", small.kit(), plan, rules=RULES, cache=work / "cache") as stream:
        for start in range(0, n, 10_000):
            with stream.state.change():
                enter(stream.state, rows(min(10_000, n - start), 3, start))
        before, took = peak_mb(), []
        for _ in range(2):
            began = time.perf_counter()
            stream.checkpoint()
            took.append(time.perf_counter() - began)
        assert list(watch(Given([]), stream, Pace(once=True)))
    print(
        f"checkpoint of {n} images: {took[0]:.2f} s, again {took[1]:.2f} s, "
        f"{(peak_mb() - before) * 1e6 / n:.0f} bytes of memory an image"
    )


def state_size(work: Path, n: int) -> None:
    """Print the bytes on disk."""
    few, many = (bytes_of_classes(work / f"classes-{c}", c) for c in (10, 1010))
    each = (many - few) / 1000
    print(f"a state of 10 classes without images: {few / 1024:.0f} KB, SQLite's own pages mostly")
    print(verdict("bytes per class", each, GOAL_BYTES))
    stored, counted = bytes_of_images(work / "images", 20_000)
    print(f"bytes per image: {stored:.0f} in the store, {counted:.0f} only counted, file there")
    checkpoint(n, work)


def main() -> None:
    """Run the parts that were named, or all."""
    options = argparse.ArgumentParser(description="What watching costs beside the batch.")
    options.add_argument("parts", nargs="*", default=["rate", "state"])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("-n", type=int, default=512, help="photographs")
    options.add_argument("--rows", type=int, default=100_000, help="images of the checkpoint")
    chosen = options.parse_args()
    cache_folder().mkdir(parents=True, exist_ok=True)
    print(machine())
    with TemporaryDirectory(dir=cache_folder()) as folder:
        work = Path(folder)
        parts = {
            "rate": lambda: rate(chosen.n, chosen.rounds, work),
            "state": lambda: state_size(work, chosen.rows),
        }
        for name in chosen.parts:
            parts[name]()


if __name__ == "__main__":
    main()
