"""What privacy costs and stops: `python -m benchmarks.privacy [--full] [--data NAME=NPZ]`.

Parts: agreement (against epsilon), cost, hostile (one bad site of ten), attacks, dp-audit, fuzz.
"""

import argparse
import time
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from benchmarks import privacy_attacks, privacy_audit
from benchmarks.measure import machine
from benchmarks.privacy_data import (
    fates,
    from_embeddings,
    jaccard,
    pooled,
    profiles,
    real_scores,
    sites,
)
from scopefl import agree, consensus
from scopefl.core.terms import MODES, Terms
from scopefl.federation import secure_sum
from scopefl.federation.secure_sum import Roster
from scopefl.federation.sharing import share

EPSILONS = (0.1, 0.3, 1.0, 3.0, 10.0)


def messages(held, n_classes, terms):
    """Share every site's scores on the terms, through real keys and bytes."""
    keys = [X25519PrivateKey.generate() for _ in held] if terms.masked else [None] * len(held)
    roster = None
    if terms.masked:
        roster = Roster.of(bytes(32), 1, [secure_sum.public_of(key) for key in keys])
    return [
        share(s, y, n_classes, terms, key=key, roster=roster)
        for (s, y), key in zip(held, keys, strict=True)
    ]


def agreement(data, clients, seeds):
    """Print kept / pruned agreement with the open selection, mode by mode."""
    low, high = (round(float(x), 2) for x in (data.low, data.high))
    print(f"\n{data.name}: agreement of the selection with open, kept / pruned, {seeds} seeds; "
          f"scores clipped to {low}..{high}")  # fmt: skip
    print(f"{'K':>4} {'mode':14}" + "".join(f"{f'eps {e:g}':>14}" for e in EPSILONS))
    for k in clients:
        held = [sites(data, k, seed) for seed in range(seeds)]
        exact = [fates(h, [pooled(profiles(h, data.n_classes))] * k) for h in held]
        for mode in ("secure-sum+dp", "local-dp"):
            row = []
            for epsilon in EPSILONS:
                terms = Terms.of(mode, epsilon=epsilon, low=low, high=high)
                row.append(both(held, exact, lambda h, t=terms: told(h, data.n_classes, t)))
            print(f"{k:>4} {mode:14}" + "".join(f"{cell:>14}" for cell in row))
        for mode in ("min-cell", "secure-sum"):
            terms = Terms.of(mode)
            cell = both(held, exact, lambda h, t=terms: told(h, data.n_classes, t))
            print(f"{k:>4} {mode:14}{cell:>14}")
        alone = both(held, exact, lambda h: [consensus(p) for p in profiles(h, data.n_classes)])
        print(f"{k:>4} {'local only':14}{alone:>14}")


def told(held, n_classes, terms):
    return [agree(messages(held, n_classes, terms)).policy] * len(held)


def both(held, exact, policies):
    found = [jaccard(fates(h, policies(h)), e) for h, e in zip(held, exact, strict=True)]
    kept, pruned = np.mean(found, axis=0)
    return f"{kept:.3f} / {pruned:.3f}"


def cost(data, clients):
    """Print what one site spends: milliseconds and bytes, by mode."""
    print(f"\n{data.name}: cost of one site, and of merging all")
    print(f"{'K':>4} {'mode':14}{'site ms':>9}{'bytes':>7}{'merge ms':>10}")
    for k in clients:
        held = sites(data, k, 0)
        for mode in MODES:
            terms = Terms.of(mode)
            messages(held[:3], data.n_classes, terms)
            started = time.perf_counter()
            sent = messages(held, data.n_classes, terms)
            between = time.perf_counter()
            agree(sent)
            ended = time.perf_counter()
            print(f"{k:>4} {mode:14}{1e3 * (between - started) / k:>9.2f}{len(sent[0]):>7}"
                  f"{1e3 * (ended - between):>10.2f}")  # fmt: skip


def fuzz(rounds, seed=0):
    """Mutate every kind of message; count what was read and what was accepted."""
    from tests.core.test_wire import attack
    from tests.federation.test_hostile_messages import attack as attack_rounds

    started = time.perf_counter()
    parts = max(1, rounds // 50_000)
    accepted = 0
    for part in range(parts):
        of_rounds = rounds // parts // 10
        accepted += attack(rounds // parts - of_rounds, (seed, part))
        accepted += attack_rounds(of_rounds, (seed, part))
    took = time.perf_counter() - started
    print(f"\nfuzz: {rounds} mutated messages, {accepted} accepted, all of them possible, "
          f"no uncaught error; {rounds / took:.0f} a second")  # fmt: skip


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("parts", nargs="*", default=["agreement", "cost", "hostile", "attacks",
                                                      "dp-audit", "fuzz"])  # fmt: skip
    options.add_argument("--full", action="store_true")
    options.add_argument("--cifar10", type=Path)
    options.add_argument("--fashion", type=Path, help="Fashion-MNIST instead of solar cells")
    options.add_argument("--data", action="append", default=[], metavar="NAME=NPZ")
    options.add_argument("-n", type=int, default=2_000, help="images a data set")
    options.add_argument("--fuzz", type=int, default=20_000)
    options.add_argument("--seed", type=int, default=0, help="of the fuzz, to go on elsewhere")
    chosen = options.parse_args()
    print(machine())
    found = cache(lambda: list(datasets(chosen)))
    seeds = 5 if chosen.full else 1
    clients = (10, 30, 100)
    parts = {
        "agreement": lambda: [agreement(data, clients, seeds) for data in found()],
        "cost": lambda: cost(found()[0], clients),
        "hostile": lambda: [privacy_attacks.hostile(data, seeds) for data in found()],
        "attacks": privacy_attacks.table,
        "dp-audit": lambda: privacy_audit.dp_audit(1_000_000 if chosen.full else 50_000),
        "fuzz": lambda: fuzz(10_000_000 if chosen.full else chosen.fuzz, chosen.seed),
    }
    for part in chosen.parts:
        parts[part]()


def datasets(chosen):
    for pair in chosen.data:
        name, path = pair.split("=", 1)
        yield from_embeddings(name, Path(path))
    if chosen.data:
        return
    from scopefl.data.cifar10 import CLASSES, fetch_cifar10, load_cifar10
    from scopefl.data.datasets.dataset import Dataset
    from scopefl.data.datasets.fashion import fashion_mnist
    from scopefl.data.demo_images import solar_cells
    from scopefl.vision.cache_folder import cache_folder

    images, labels = load_cifar10(chosen.cifar10 or fetch_cifar10(cache_folder() / "cifar10"))
    yield real_scores("cifar10", Dataset(images, labels.astype(np.int64), CLASSES), chosen.n)
    if chosen.fashion:
        yield real_scores("fashion-mnist", fashion_mnist(chosen.fashion), chosen.n)
        return
    cells = solar_cells("a second set that pip can install")
    found = Dataset(np.stack(cells.images), np.int64(cells.labels), cells.classes)
    yield replace(real_scores("solar cells", found, chosen.n), imbalance=None)


if __name__ == "__main__":
    main()
