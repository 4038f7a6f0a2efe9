"""Bytes of real encoded profiles in every row of the paper's communication table.

`python -m benchmarks.wire`
"""

import numpy as np

from benchmarks.measure import verdict
from scopefl import Profile, Scores
from scopefl.core.fingerprint import LENGTH

ROWS = {
    # clients, classes, feature dimension, images before the long tail
    "ResNet-18 & CIFAR-10": (10, 10, 512, 50_000),
    "ViT-B-16 & CIFAR-100": (100, 100, 768, 50_000),
    "ResNet-50 & Tiny-ImageNet": (100, 200, 2048, 100_000),
    "EfficientNetV2 & EuroSAT": (10, 10, 1280, 21_600),
    "Swin-Tiny & UHCS": (10, 6, 768, 600),
}
IMBALANCE, SEEDS = 2, 5


def profiles(rng, clients, classes, images, alpha):
    """CLIP-like scores of a long-tailed, Dirichlet-divided collection, a profile a client."""
    tail = IMBALANCE ** -(np.arange(classes) / (classes - 1))
    center = rng.normal([0.26, 0.2], 0.03, (classes, 2))
    shift = rng.normal(0, 0.005, (clients, 2))
    parts = [[] for _ in range(clients)]
    for c, n in enumerate((images / classes * tail).astype(int)):
        share = rng.multinomial(n, rng.dirichlet(np.full(clients, alpha)))
        for k in np.flatnonzero(share):
            parts[k].append((c, rng.normal(center[c] + shift[k], 0.03, (share[k], 2))))
    for mine in parts:
        x = np.concatenate([rows for _, rows in mine] or [np.zeros((0, 2))]).astype(np.float32)
        labels = np.repeat([c for c, _ in mine], [len(rows) for _, rows in mine]).astype(int)
        rs = x[:, 0]
        ds = np.sqrt(1 - rs.astype(float) ** 2).astype(np.float32)
        yield Profile.of(Scores(rs, ds, x[:, 1]), labels, classes)


def total(row, alpha, seed):
    clients, classes, _, images = ROWS[row]
    messages = 0
    for profile in profiles(np.random.default_rng(seed), clients, classes, images, alpha):
        message = profile.to_bytes(bytes(LENGTH))
        assert Profile.from_bytes(message) == profile
        messages += len(message)
    return messages


def main():
    print(
        f"IR {IMBALANCE}, {SEEDS} seeds, mean of the sum over clients; envelope and fingerprint in"
    )
    print("row | alpha | ours, bytes | 16 B a class and client | FedCS C x D x 4 | FedCS / ours")
    for row, (clients, classes, dimension, _) in ROWS.items():
        for alpha in (0.1, 1.0):
            ours = float(np.mean([total(row, alpha, seed) for seed in range(SEEDS)]))
            paper, fedcs = 16 * clients * classes, 4 * clients * classes * dimension
            print(f"{row} | {alpha} | {ours:,.0f} | {paper:,} | {fedcs:,} | {fedcs / ours:.0f}x")
            if alpha < 1:
                limit = 3 if clients == 100 else 1.3
                print(" ", verdict("16 B / ours", paper / ours, limit, at_most=False))
            else:
                print(" ", verdict("ours / 16 B", ours / paper, 1.25))


if __name__ == "__main__":
    main()
