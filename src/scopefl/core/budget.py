"""The budget rule: a global keep fraction levels head classes and leaves tail classes whole."""

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import (
    AUTO,
    Selection,
    anomalies,
    anomaly,
    keys,
    lean,
    redundancy,
    z_scores,
)
from scopefl.core.order import (
    Decimal,
    Ids,
    Rows,
    by_class,
    check_ids,
    exact,
    highest,
    ranked,
)
from scopefl.core.policy import consensus
from scopefl.core.profile import Profile
from scopefl.core.scores import Floats, Labels, Scores, check_labels

SPARE = 3
"""Doubtful samples go while this many times what is to be kept is left: see docs/results.md."""
SURE = 40
"""A quota from which on no dither leaves every client empty (chance below e^-40)."""


def quotas(count: NDArray[np.int64], keep: Decimal) -> list[Fraction]:
    """Level the classes: Q_c = min(N_c, level), summing to floor(keep * N) exactly.

    >>> [str(q) for q in quotas(np.array([100, 10, 5]), 0.4)]
    ['31', '10', '5']
    """
    left = Fraction(int(exact("keep", keep, one_allowed=True) * int(count.sum())))
    quota = [Fraction(0)] * len(count)
    rising = np.argsort(count, kind="stable").tolist()
    for place, c in enumerate(rising):
        quota[c] = min(Fraction(int(count[c])), left / (len(rising) - place))
        left -= quota[c]
    return quota


def select_budget(
    scores: Scores,
    labels: Labels,
    profile: Profile,
    *,
    keep: Decimal,
    p_l: Decimal = 0.1,
    ids: Sequence[Any] | Ids | None = None,
    run: str = "",
    client: str = "",
) -> Selection:
    """Keep this client's share of every class's quota: anomalies go first, the rest evenly over R.

    With `p_l="auto"` what leans to its rival goes next, as long as SPARE times the share is left.

    `profile` is the merged one. Give every client its own name: it decides how shares are rounded.
    """
    labels = check_labels(labels, len(scores), profile.n_classes)
    ids = check_ids(ids, len(scores))
    policy = consensus(profile)
    z = z_scores(scores, labels, policy)
    suspect = anomalies(scores, policy, z, p_l, ids)
    doubtful = suspect if p_l != AUTO else np.asarray(lean(scores, policy, z) > 0)
    kept = np.zeros(len(scores), bool)
    by_r, by_as = keys(redundancy, z), keys(anomaly, z)
    # What was not published, or is lost in noise, is at least what this client holds itself.
    here = np.bincount(np.asarray(labels, np.intp), minlength=profile.n_classes)
    whole = np.maximum(profile.count, here)
    quota = quotas(whole, keep)
    for c, rows in enumerate(by_class(labels, profile.n_classes)):
        if len(rows):
            share = quota[c] * len(rows) / int(whole[c])
            count = dithered(share, quota[c], run, client, c)
            clean = _undoubted(rows[~suspect[rows]], count, doubtful, by_as, ids)
            kept[_stay(clean, rows[suspect[rows]], count, by_r, by_as, ids)] = True
    return Selection(kept, suspect & ~kept, ~suspect & ~kept)


def dithered(share: Fraction, quota: Fraction, run: str, client: str, c: int) -> int:
    """Round a share so that clients together meet the quota without another message.

    A class of a small quota keeps at least one sample at every client that holds it.
    """
    seed = hashlib.sha256("\0".join((run, client, str(c))).encode()).digest()
    dither = Fraction(int.from_bytes(seed[:8], "big"), 1 << 64)
    return max(int(share + dither), 1 if 0 < quota < SURE else 0)


def _undoubted(
    clean: Rows,
    count: int,
    doubtful: NDArray[np.bool_],
    by_as: tuple[Floats, Floats],
    ids: Ids,
) -> Rows:
    spare = len(clean) - SPARE * count
    going = highest(spare, by_as, ids, clean[doubtful[clean]])
    return clean[~np.isin(clean, going)] if len(going) else clean


def _stay(
    clean: Rows,
    anomalous: Rows,
    count: int,
    by_r: tuple[Floats, Floats],
    by_as: tuple[Floats, Floats],
    ids: Ids,
) -> Rows:
    if count < len(clean):
        return evenly(ranked(by_r, ids, clean), count)
    spared = ranked([-key for key in by_as], ids, anomalous)[: count - len(clean)]
    return np.concatenate([clean, spared])


def evenly(rows: Rows, count: int) -> Rows:
    """Take `count` of the rows at even steps, the ends spared alike.

    >>> evenly(np.arange(10), 3)
    array([1, 5, 8])
    """
    return rows[(2 * np.arange(count) + 1) * len(rows) // (2 * count)] if count else rows[:0]
