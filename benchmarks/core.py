"""score + profile, profile + select, and a sweep: `python -m benchmarks.core`."""

import subprocess
import sys

import numpy as np

from benchmarks.measure import least_seconds, machine, mb_beyond, peak_mb, verdict
from scopefl import Profile, Scores, consensus, score, select

DIMENSION = 512
TILES = (128, 256, 1024)


def embeddings(n, n_classes):
    rng = np.random.default_rng(0)
    images = rng.standard_normal((n, DIMENSION), np.float32)
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    prototypes = rng.standard_normal((n_classes, DIMENSION), np.float32)
    prototypes /= np.linalg.norm(prototypes, axis=1, keepdims=True)
    return images, prototypes, rng.integers(0, n_classes, n)


def bare_product(images, prototypes, rows):
    out = np.empty((rows, len(prototypes)), np.float32)
    for start in range(0, len(images), rows):
        part = images[start : start + rows]
        np.matmul(part, prototypes.T, out=out[: len(part)])


def scoring(n_classes, limit, n=1_000_000):
    images, prototypes, labels = embeddings(n, n_classes)
    sides = {
        f"bare, {rows} rows": lambda rows=rows: bare_product(images, prototypes, rows)
        for rows in TILES
    }

    def ours():
        return Profile.of(score(images, prototypes, labels), labels, n_classes)

    print(" ", verdict("memory beyond the input, MB", mb_beyond(ours), 200))
    sides["score + profile"] = ours
    seconds = least_seconds(sides)
    bare = min(value for name, value in seconds.items() if name.startswith("bare"))
    whole = seconds["score + profile"]
    print(f"  {n:,} x {DIMENSION}, C = {n_classes}: bare product {bare:.2f} s, ours {whole:.2f} s")
    print(" ", verdict("ratio", whole / bare, limit))


def selecting(n=10_000_000, n_classes=1000):
    rng = np.random.default_rng(0)
    rs = rng.normal(0.25, 0.03, n).astype(np.float32)
    s_neg = rng.normal(0.2, 0.03, n).astype(np.float32)
    scores = Scores(rs, np.sqrt(1 - rs * rs), s_neg)
    labels = rng.integers(0, n_classes, n, dtype=np.int32)

    def both():
        policy = consensus(Profile.of(scores, labels, n_classes))
        return select(scores, labels, policy)

    seconds = least_seconds({"profile + select": both}, rounds=2)["profile + select"]
    print(" ", verdict(f"profile + select, {n:,} rows, C = {n_classes}, s", seconds, 8))
    print(" ", verdict("memory in all, GB", peak_mb() / 1000, 1.5))


def sweeping(n=50_000, n_classes=100):
    images, prototypes, labels = embeddings(n, n_classes)
    scores = score(images, prototypes, labels)
    profile = Profile.of(scores, labels, n_classes)
    settings = [
        (p_l, p_f, beta, gamma)
        for p_l in (0, 0.05, 0.1, 0.2, "auto")
        for p_f in (0.1, 0.3, 0.5, 0.7, 0.9)
        for beta in (0.3, 0.5)
        for gamma in (0.5, 1)
    ]

    def sweep():
        for p_l, p_f, beta, gamma in settings:
            select(scores, labels, consensus(profile, gamma), p_l=p_l, p_f=p_f, beta=beta)

    seconds = least_seconds({"sweep": sweep}, rounds=2)["sweep"]
    print(" ", verdict(f"{len(settings)} settings over {n:,} rows, C = {n_classes}, s", seconds, 3))


PARTS = {
    "score1000": lambda: scoring(1000, 1.35),
    "score100": lambda: scoring(100, 1.7),
    "select": selecting,
    "sweep": sweeping,
}

if __name__ == "__main__":
    if len(sys.argv) == 2:
        PARTS[sys.argv[1]]()
    else:
        print(machine(), flush=True)
        for part in PARTS:  # each in its own process, so that its memory is its own
            subprocess.run([sys.executable, "-m", "benchmarks.core", part], check=True)
