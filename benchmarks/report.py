"""How long a report and a sweep take, and how large the page is: `python -m benchmarks.report`.

50,000 synthetic samples of 100 classes at 10 clients, with embeddings of 128 numbers, a 64-pixel
picture for every gallery entry and the map made anew; then the same with the map read from its
cache; then the extremes of one client, 1,000 classes and 10,000 clients; then 100 settings swept.
"""

import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import fingerprint
from scopefl.core.policy import Agreement, agree
from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile
from scopefl.federation.by_file import Rule, coreset
from scopefl.federation.sweep import settings, sweep
from scopefl.report.collection import Site
from scopefl.report.page import write_report

GOAL_MB = 4.0
DIMENSION = 128


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Divide each row by its norm."""
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)


def scored(n: int, c: int, k: int) -> tuple[list[ScoresFile], list[NDArray[np.float32]], Agreement]:
    """Score n samples of c classes at k clients, one in ten under a wrong label."""
    rng = np.random.default_rng(0)
    prototypes = unit(rng.standard_normal((c, DIMENSION)))
    size = 10 ** -np.linspace(0, 1, c)
    truth = rng.choice(c, size=n, p=size / size.sum())
    v_img = unit(prototypes[truth] + 0.12 * rng.standard_normal((n, DIMENSION)))
    labels = np.where(rng.random(n) < 0.1, rng.integers(c, size=n), truth)
    names = [f"class {number}" for number in range(c)]
    kit = fingerprint(names, {})
    parts = np.array_split(rng.permutation(n), k)
    files = [
        ScoresFile.of(
            score(v_img[rows], prototypes, labels[rows]),
            labels[rows],
            names,
            kit,
            ids=[f"{names[labels[row]]}/{row:06d}.png" for row in rows],
        )
        for rows in parts
    ]
    agreement = agree([file.profile.to_bytes(kit) for file in files])
    return files, [v_img[rows] for rows in parts], agreement


def picture(name: str, _path: str | None) -> NDArray[np.uint8]:
    """Draw noise that belongs to the name: the worst case for a thumbnail's size."""
    seed = int(name[-10:-4])
    return np.random.default_rng(seed).integers(0, 255, (64, 64, 3), np.uint8)


def sites_of(n: int, c: int, k: int) -> tuple[list[Site], Agreement]:
    """Select at each client."""
    files, v_img, agreement = scored(n, c, k)
    return [
        Site(
            coreset(file, agreement, Rule(), f"client {number}"),
            embeddings=rows,
            pixels=picture,
        )
        for number, (file, rows) in enumerate(zip(files, v_img, strict=True))
    ], agreement


def timed(name: str, sites: Sequence[Site], agreement: Agreement, cache: Path | None) -> None:
    """Print the seconds and megabytes of one report."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        size = write_report(sites, Path(folder, "r.html"), agreement=agreement, cache_in=cache)
        seconds = time.perf_counter() - start
    verdict = "within" if size < GOAL_MB * 1e6 else "ABOVE"
    print(f"{name:42} {seconds:6.2f} s  {size / 1e6:5.2f} MB  {verdict} {GOAL_MB:g} MB", flush=True)


def main() -> None:
    """Print a line a case."""
    with tempfile.TemporaryDirectory() as folder:
        sites, agreement = sites_of(50_000, 100, 10)
        timed("50,000 samples, map made", sites, agreement, Path(folder))
        timed("50,000 samples, map from its cache", sites, agreement, Path(folder))
    for name, shape in {
        "50,000 samples, one client, no map": (50_000, 100, 1),
        "50,000 samples, 1,000 classes, no map": (50_000, 1_000, 10),
        "50,000 samples, 10,000 clients, no map": (50_000, 10, 10_000),
    }.items():
        sites, agreement = sites_of(*shape)
        timed(name, [replace(site, embeddings=None) for site in sites], agreement, None)
    (file,), _, agreement = scored(50_000, 100, 1)
    tenths = [f"0.{digit}" for digit in range(10)]
    start = time.perf_counter()
    outcomes = list(sweep(file, agreement, settings(p_l=tenths, p_f=tenths)))
    seconds = time.perf_counter() - start
    print(f"{f'{len(outcomes)} settings swept over 50,000 samples':42} {seconds:6.2f} s")


if __name__ == "__main__":
    main()
