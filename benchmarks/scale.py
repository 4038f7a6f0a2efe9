"""What outgrows memory or one process: `python -m benchmarks.scale [rows] [after] [ray]`.

rows   tables of scored rows in Parquet to a profile and from there to a coreset by both rules, by
       the commands `scope profile` and `scope select` in processes of their own: seconds, peak
       memory, and a core's time a row beyond that of starting two commands; --chart draws it.
       The rows are simulated: 1,000 classes of unequal size. 100 million need 8 GB of disk.
after  what else reads such tables: sweep, report, show, why and export, on the last of --rows.
ray    `scope score --engine ray` by one worker of one core and by two, on the offline encoder.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import psutil
import pyarrow as pa

from benchmarks.measure import machine, verdict
from benchmarks.scoring import photographs
from scopefl.core.scores import Scores
from scopefl.data.cifar10 import CLASSES as CIFAR
from scopefl.data.opening import open_source
from scopefl.data.rules import DecodingRules
from scopefl.data.scores_file import SCORE_COLUMNS, ScoresFile, writing
from scopefl.vision.kit import Kit
from scopefl.vision.on_ray import embed_by_ray
from scopefl.vision.ray_cluster import Fleet
from scopefl.vision.scoring import with_rules

N_CLASSES = 1000
SMALL = 10**6
BATCH = 1 << 20
FINGERPRINT = bytes(8)
CLASSES = [f"class {c:03}" for c in range(N_CLASSES)]
GOALS = {10**7: (60, 1000), 10**8: (600, 1500)}
"""Rows: most seconds, most MB."""
RULES = {"paper": (), "budget": ("--keep", "0.3")}


@dataclass(frozen=True)
class Spent:
    """What a command took: seconds by the clock and of processors, megabytes at its peak."""

    seconds: float
    processor: float
    megabytes: float


def simulated(n: int) -> Iterator[ScoresFile]:
    """Give n scored rows of a long tail of classes, a batch at a time."""
    size = 10 ** -np.linspace(0, 2, N_CLASSES)
    for start in range(0, n, BATCH):
        rng = np.random.default_rng([0, start])
        rows = np.arange(start, min(start + BATCH, n))
        labels = rng.choice(N_CLASSES, len(rows), p=size / size.sum()).astype(np.int32)
        rs = rng.normal(0.26, 0.03, len(rows)).astype(np.float32)
        s_neg = rng.normal(0.21, 0.03, len(rows)).astype(np.float32)
        rival = (labels + rng.integers(1, N_CLASSES, len(rows), np.int32)) % N_CLASSES
        scores = Scores(rs, np.sqrt(1 - rs * rs), s_neg, rival)
        # Ids that are shuffled, as those of a folder read in another order would be.
        numbers = pa.array(rows * 2654435761 % 2**32).cast(pa.string())
        ids = pa.compute.binary_join_element_wise("site/image", numbers, "-")
        yield ScoresFile.of(scores, labels, CLASSES, FINGERPRINT, ids=ids, paths=ids)


def write_simulated(path: Path, n: int) -> None:
    """Write n simulated rows as a scores file."""
    schema = pa.schema(list(SCORE_COLUMNS.items()))
    with writing(schema, path, "scores", CLASSES, FINGERPRINT, {}) as writer:
        for part in simulated(n):
            writer.write_table(part.table)


def scope(*arguments: object, environment: dict[str, str] | None = None) -> Spent:
    """Run a command of ours in a process of its own."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "scopefl", *map(str, arguments)]
    child = subprocess.Popen(
        command, stdout=subprocess.DEVNULL, env={**os.environ, **(environment or {})}
    )
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.perf_counter() - began
    if os.waitstatus_to_exitcode(status):
        sys.exit(f"{' '.join(command)} failed")
    return Spent(seconds, used.ru_utime + used.ru_stime, used.ru_maxrss / 1000)


def agreed(scores: Path) -> tuple[Path, Spent]:
    """Make the policy of one site; give it and what its profile took."""
    profile, policy = scores.with_suffix(".profile"), scores.with_suffix(".policy")
    spent = scope("profile", scores, "-o", profile)
    scope("merge", profile, "-o", policy, "--expect", 1)
    return policy, spent


def to_coreset(scores: Path) -> dict[str, list[Spent]]:
    """Go from a scores file to a coreset by each rule: what profile and select took."""
    policy, profile = agreed(scores)
    found = {}
    for name, rule in RULES.items():
        coreset = scores.with_suffix(f".{name}")
        select = scope("select", scores, "--policy", policy, *rule, "-o", coreset)
        coreset.unlink()
        found[name] = [profile, select]
    return found


def processor_of(spent: list[Spent]) -> float:
    return sum(one.processor for one in spent)


def rows(sizes: Sequence[int], work: Path, chart: Path | None) -> None:
    """Print what tables of these sizes take, and draw it."""
    start = None
    found = []
    for n in (1000, *sizes):
        scores = work / f"{n}.parquet"
        write_simulated(scores, n)
        spent = least([to_coreset(scores) for _ in range(3 if n <= SMALL else 1)])
        if start is None:
            start = {name: processor_of(one) for name, one in spent.items()}
            print(f"two commands on 1,000 rows: {start['paper']:.2f} s of a core")
        else:
            print(f"{n:,} rows of {N_CLASSES} classes, {scores.stat().st_size / 1e6:,.0f} MB")
            found += [told(n, name, one, start[name]) for name, one in spent.items()]
        scores.unlink()
    if chart is not None:
        draw(found, chart)


def least(rounds: list[dict[str, list[Spent]]]) -> dict[str, list[Spent]]:
    """Give the quickest of some rounds by each rule: noise only ever adds."""
    return {name: min((one[name] for one in rounds), key=processor_of) for name in RULES}


def told(n: int, rule: str, spent: list[Spent], start: float) -> dict[str, Any]:
    """Print one table's figures; give them as a row for the chart."""
    seconds, megabytes = sum(one.seconds for one in spent), max(one.megabytes for one in spent)
    each = 1e6 * (processor_of(spent) - start) / n
    took = f"{seconds:.1f} s, {each:.2f} microseconds of a core a row beyond the start"
    print(f"  {rule} rule: {took}, peak {megabytes:.0f} MB", flush=True)
    if n in GOALS:
        most_seconds, most_megabytes = GOALS[n]
        print("   ", verdict("seconds", seconds, most_seconds))
        print("   ", verdict("peak, MB", megabytes, most_megabytes), flush=True)
    return {"rows": n, "rule": rule, "microseconds of a core, a row": each, "peak, MB": megabytes}


def draw(found: list[dict[str, Any]], path: Path) -> None:
    """Draw time a row and peak memory against the number of rows."""
    import altair as alt

    base = alt.Chart(alt.InlineData(values=found)).mark_line(point=True)
    x = alt.X("rows:Q", scale=alt.Scale(type="log"), axis=alt.Axis(format="~s", grid=False))
    panels = [
        base.encode(x=x, y=alt.Y(f"{name}:Q"), color=alt.Color("rule:N")).properties(
            width=260, height=170
        )
        for name in ("microseconds of a core, a row", "peak, MB")
    ]
    alt.hconcat(*panels).save(path, scale_factor=1.5)
    print(f"{path}: drawn")


def after(n: int, work: Path) -> None:
    """Print what the commands take that read scores and coresets of n rows."""
    scores, coreset, out = work / "after.parquet", work / "after.coreset", work / "after.out"
    write_simulated(scores, n)
    policy, _ = agreed(scores)
    scope("select", scores, "--policy", policy, "-o", coreset)
    print(f"{n:,} rows of {N_CLASSES} classes")
    for words in (
        ("sweep", scores, "--policy", policy, "--p-f", "0.3,0.7"),
        ("report", coreset, "-o", out),
        ("show", coreset),
        ("why", f"site/image-{2654435761 * (n // 2) % 2**32}", "--coreset", coreset),
        ("export", coreset, "--to", "txt", "-o", out),
    ):
        spent = scope(*words)
        print(f"  {words[0]}: {spent.seconds:.1f} s, peak {spent.megabytes:.0f} MB", flush=True)


def by_ray(n: int, work: Path) -> None:
    """Print images a second by one worker and by two, each bound to a core, once they are warm."""
    images, rules = photographs(work / "photographs", n, CIFAR), DecodingRules()
    kit = with_rules(Kit.load("offline", CIFAR), rules, "onnxruntime")
    rates: dict[int, float] = {}
    for turn, workers in enumerate((1, 2, 1, 2)):
        times: list[float] = []

        def passed(_: object, times: list[float] = times) -> None:
            if not times:
                bind_workers()
            times.append(time.perf_counter())

        cache, fleet = work / f"cache-{turn}", Fleet(workers)
        given = {"runtime": "onnxruntime", "fleet": fleet, "passed": passed}
        embed_by_ray(open_source(images), kit, rules, cache, **given)
        warm = n // 4
        rate = (n - warm) / (times[-1] - times[warm - 1])
        rates[workers] = max(rate, rates.get(workers, 0))
    print(f"offline encoder, {n} JPEGs of 500 pixels, one core a worker, the better of 2 runs:")
    print(f"  one worker {rates[1]:.1f} images/s, two {rates[2]:.1f} images/s")
    print(" ", verdict("two Ray workers against one", rates[2] / rates[1], 1.8, at_most=False))


def bind_workers() -> None:
    """Bind each worker to a core of its own: its decoding would else use another's."""
    cores = sorted(os.sched_getaffinity(0))
    below = psutil.Process().children(recursive=True)
    actors = [one for one in below if one.name().startswith("ray::MapWorker")]
    for number, actor in enumerate(actors):
        for thread in actor.threads():
            os.sched_setaffinity(thread.id, {cores[number % len(cores)]})


def main() -> None:
    options = argparse.ArgumentParser(description="Collections that outgrow memory or a process.")
    options.add_argument("parts", nargs="*", default=["rows", "after", "ray"])
    options.add_argument("--rows", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    options.add_argument("--chart", type=Path, help="of `rows`: the picture to write")
    options.add_argument("--work", type=Path, help="where tables are written")
    options.add_argument("-n", type=int, default=600, help="photographs of `ray`")
    chosen = options.parse_args()
    print(machine(), flush=True)
    with TemporaryDirectory(dir=chosen.work) as folder:
        parts = {
            "rows": lambda: rows(chosen.rows, Path(folder), chosen.chart),
            "after": lambda: after(chosen.rows[-1], Path(folder)),
            "ray": lambda: by_ray(chosen.n, Path(folder)),
        }
        for name in chosen.parts:
            parts[name]()


if __name__ == "__main__":
    main()
