"""What sites add up under differential privacy: clipped moments whose sensitivity is known.

One image adds (1, u, u^2 - 1/2, v, v^2 - 1/2) to one class, u and v its RS and S_neg mapped from
the public range to -1..1. Since u^2 + (u^2 - 1/2)^2 = u^4 + 1/4 <= 5/4, its length is at most
sqrt(3.5). Rounding four of the five numbers to whole units adds at most 1 unit.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from scopefl.core.cells import UNIT
from scopefl.core.profile import Profile, check_scores
from scopefl.core.rebuilt import rebuilt
from scopefl.core.scores import Floats, Labels, Scores, check_labels
from scopefl.core.terms import Terms
from scopefl.errors import ScopeError

ROWS = 5
LENGTH = np.sqrt(3.5)
FEWEST = 2.0
"""Below so many noise deviations, a class's own moments are worth nothing."""
REACH = 20.0
"""Noise of so many deviations is drawn less than once in 10^80 draws."""


def sensitivity(terms: Terms) -> float:
    """Give how far one specimen can move the moments, in units of 2^-20 (Euclidean)."""
    return float(np.nextafter(terms.tiles * (LENGTH * UNIT + 1), np.inf))


def moments(scores: Scores, labels: Labels, n_classes: int, terms: Terms) -> NDArray[np.int64]:
    """Sum up (1, u, u^2 - 1/2, v, v^2 - 1/2) by class, (5, C) in units of 2^-20.

    >>> s = Scores(*np.float64([[0.5], [0.8], [0.25]]))
    >>> moments(s, np.array([0]), 2, Terms.of("local-dp"))[:, 0] / UNIT
    array([ 1. ,  1. ,  0.5,  0. , -0.5])
    """
    labels = check_labels(labels, len(scores), n_classes)
    found = np.zeros((ROWS, n_classes), np.int64)
    found[0] = np.bincount(np.asarray(labels, np.intp), minlength=n_classes) * UNIT
    for row, (metric, x) in enumerate((("rs", scores.rs), ("s_neg", scores.s_neg))):
        check_scores(x, metric)
        u = np.clip((np.float64(x) - _middle(terms)) / _half(terms), -1, 1)
        for at, values in ((1 + 2 * row, u), (2 + 2 * row, u * u - 0.5)):
            np.add.at(found[at], labels, np.int64(np.rint(values * UNIT)))
    return found


def check(rows: NDArray[np.int64], noise: float, max_count: int) -> None:
    """Refuse moments (5, C) that no images and no noise of this deviation can give.

    >>> check(np.array([[900.0], [2000.0], [0.0], [0.0], [0.0]]) * UNIT, noise=1.0, max_count=999)
    Traceback (most recent call last):
    ...
    scopefl.errors.ScopeError: these noisy sums cannot be true: class 0 has moments beyond its count
    """
    count, others = rows[0].astype(np.float64), np.abs(rows[1:].astype(np.float64)).max(axis=0)
    reach = REACH * noise
    broken = {
        "a negative count": count < -reach,
        f"more than {max_count} samples": count > max_count * float(UNIT) + reach,
        "moments beyond its count": others > count + 2 * reach,
    }
    for what, classes in broken.items():
        if classes.any():
            raise ScopeError(
                f"these noisy sums cannot be true: class {int(classes.argmax())} has {what}"
            )


def capped(specimens: Sequence[str], ids: Sequence[str], tiles: int) -> NDArray[np.bool_]:
    """Mark at most `tiles` images of each specimen, chosen by the hash of their ids.

    >>> capped(["a", "a", "a", "b"], ["1", "2", "3", "4"], tiles=2).tolist()
    [True, False, True, True]
    """
    order = sorted(range(len(ids)), key=lambda row: hashlib.sha256(ids[row].encode()).digest())
    seen: dict[str, int] = {}
    taken = np.zeros(len(ids), bool)
    for row in order:
        seen[specimens[row]] = seen.get(specimens[row], 0) + 1
        taken[row] = seen[specimens[row]] <= tiles
    return taken


def only(scores: Scores, taken: NDArray[np.bool_]) -> Scores:
    """Give the scores of the samples that are taken."""
    return replace(
        scores, rs=scores.rs[taken], ds=scores.ds[taken], s_neg=scores.s_neg[taken], rival=None
    )


def restored(total: NDArray[np.int64], noise: float, terms: Terms) -> Profile:
    """Give the profile that noisy moments (5, C) speak of; `noise` is their deviation, in units.

    Each class's moments are drawn to those of all classes together, the more the noisier they are
    (empirical Bayes). A class whose count is lost in the noise is absent.
    """
    count, values = total[0] / UNIT, total[1:] / float(UNIT)
    spread = noise / UNIT
    seen = count > max(FEWEST * spread, 0.5)
    if not seen.any():
        return Profile.empty(total.shape[1])
    n = np.where(seen, count, 1.0)
    raw = values / n
    raw[1::2] += 0.5  # the mean squares, as they were before centring
    drawn = np.stack([_drawn(row, n, seen, spread) for row in raw])
    u, square = drawn[0::2], drawn[1::2]
    variance = np.stack([_drawn(v, n, seen, 2 * spread) for v in np.clip(square - u**2, 1e-6, 1)])
    mean = np.float64(1) * np.clip(u, -1, 1) * _half(terms) + _middle(terms)
    whole = np.where(seen, np.rint(np.maximum(count, 1)), 0).astype(np.int64)
    return rebuilt(whole, mean, np.maximum(variance, 1e-6) * _half(terms) ** 2)


def _drawn(row: Floats, n: Floats, seen: NDArray[np.bool_], spread: float) -> Floats:
    """Shrink a row of class means toward their common mean by how noisy each is."""
    weight = np.where(seen, n, 0.0)
    pooled = (weight * row).sum() / weight.sum()
    error = (spread / n) ** 2
    between = (weight * ((row - pooled) ** 2 - error)).sum() / weight.sum()
    between = max(float(between), 1e-12)
    trust = between / (between + error)
    shrunk: Floats = pooled + trust * (row - pooled)
    return shrunk


def _middle(terms: Terms) -> float:
    return (terms.low + terms.high) / 2


def _half(terms: Terms) -> float:
    return (terms.high - terms.low) / 2
