"""The method again, as slowly and plainly as it can be said: what every fast path must equal."""

import math
from fractions import Fraction

import numpy as np

from scopefl import Policy, Profile, Scores, Selection

UNIT = 2**20


def scores(images, prototypes, labels):
    rows = []
    for v, y in zip(images.tolist(), labels.tolist(), strict=True):
        similar = [sum(a * b for a, b in zip(v, t, strict=True)) for t in prototypes.tolist()]
        rs = float(np.float32(similar[y]))
        others = [(-s, j) for j, s in enumerate(similar) if j != y]
        s_neg, rival = min(others)
        rows.append((rs, max(0.0, 1 - rs * rs) ** 0.5, -s_neg, rival))
    rs, ds, s_neg, rival = zip(*rows, strict=True)
    return Scores(np.float32(rs), np.float32(ds), np.float32(s_neg), np.int32(rival))


def profile(s, labels, n_classes):
    table = np.zeros((7, n_classes), np.int64)
    for i, y in enumerate(labels.tolist()):
        table[0, y] += 1
        for m, metric in enumerate((s.rs, s.ds, s.s_neg)):
            x = max(-1.0, min(1.0, float(metric[i])))
            table[1 + m, y] += round(x * UNIT)
            table[4 + m, y] += round(x * x * UNIT)
    return Profile(table[0], table[1:4], table[4:])


def policy(p, gamma):
    n = p.count.tolist()
    total = sum(n)
    raw = [(1 / (c / total + 1e-12)) ** gamma if c else 0.0 for c in n]
    scale = sum(raw) / sum(1 for c in n if c)
    mean, sigma = np.zeros((3, len(n))), np.zeros((3, len(n)))
    for m in range(3):
        for c in range(len(n)):
            if n[c]:
                mu = int(p.sums[m, c]) / (n[c] * float(UNIT))
                variance = int(p.squares[m, c]) / (n[c] * float(UNIT)) - mu * mu
                mean[m, c] = mu
                if n[c] > 1 and variance > (0.5 + abs(mu)) / UNIT:
                    sigma[m, c] = math.sqrt(variance)
    return Policy(np.array([w / scale for w in raw]), mean, sigma)


def z(s, labels, omega):
    out = []
    for m, metric in enumerate((s.rs, s.ds, s.s_neg)):
        row = []
        for x, y in zip(metric.tolist(), labels.tolist(), strict=True):
            sigma = float(omega.sigma[m, y])
            row.append((x - float(omega.mean[m, y])) / sigma if sigma > 0 else 0.0)
        out.append(row)
    return out


def clip(x):
    return max(0.0, min(1.0, (x + 3) / 6))


def anomaly_key(zs, i, ids):
    rs, _, s_neg = (row[i] for row in zs)
    return -(clip(s_neg) - clip(rs)), -(s_neg - rs), ids[i]


def redundancy_key(zs, i, ids):
    rs, ds, s_neg = (row[i] for row in zs)
    return -(clip(rs) - clip(s_neg) - clip(ds)), -(rs - s_neg - ds), ids[i]


def targets(labels, omega, beta):
    count = {c: labels.count(c) for c in set(labels) if omega.weight[c] > 0}
    t = {c: n / len(labels) / float(omega.weight[c]) for c, n in count.items()}
    top = max(t.values(), default=0)
    return {c for c in t if (top - t[c]) / (top + 1e-12) <= beta}


def select(s, labels, omega, p_l, p_f, beta, ids):
    zs, y, everyone = z(s, labels, omega), labels.tolist(), range(len(s))
    by_anomaly = sorted(everyone, key=lambda i: anomaly_key(zs, i, ids))
    anomalous = set(by_anomaly[: int(Fraction(str(p_l)) * len(s))])
    left = [i for i in everyone if i not in anomalous]
    redundant = set()
    for c in targets([y[i] for i in left], omega, beta):
        mine = sorted((i for i in left if y[i] == c), key=lambda i: redundancy_key(zs, i, ids))
        redundant |= set(mine[: int(Fraction(str(p_f)) * len(mine))])
    return selection(len(s), anomalous, redundant)


def selection(n, anomalous, redundant):
    a = np.array([i in anomalous for i in range(n)], bool)
    r = np.array([i in redundant for i in range(n)], bool)
    return Selection(~(a | r), a, r)
