"""The budget rule: a global keep fraction levels head classes and leaves tail classes whole."""

import hashlib
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import AUTO, Selection, drop_anomalies
from scopefl.core.fates import ANOMALOUS, KEPT, REDUNDANT, Counts, Fates, FatesInMemory
from scopefl.core.order import Decimal, Ids, exact
from scopefl.core.policy import consensus
from scopefl.core.profile import Profile
from scopefl.core.scores import Labels, Scores
from scopefl.core.standard import anomaly, leaning, reverse

SPARE = 3
"""Doubtful samples go while this many times what is to be kept is left: see docs/results.md."""
SURE = 40
"""A quota from which on no dither leaves every client empty (chance below e^-40)."""


def quotas(count: NDArray[np.int64], keep: Decimal) -> list[Fraction]:
    """Level the classes: Q_c = min(N_c, level), summing to floor(keep * N) exactly.

    >>> [str(q) for q in quotas(np.array([100, 10, 5]), 0.4)]
    ['31', '10', '5']
    """
    return levelled(count, int(exact("keep", keep, one_allowed=True) * int(count.sum())))


def levelled(count: NDArray[np.int64], total: int) -> list[Fraction]:
    """Give min(N_c, level) for every class; the one level makes them sum to `total`, or to all.

    Where more samples come, the level never rises.
    """
    left = Fraction(total)
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
    fates = FatesInMemory(scores, labels, consensus(profile), ids)
    level(fates, profile, keep=keep, p_l=p_l, run=run, client=client)
    return Selection.of(fates.fate)


def level(
    fates: Fates,
    profile: Profile,
    *,
    keep: Decimal,
    p_l: Decimal,
    run: str,
    client: str,
    seen: Counts | None = None,
) -> None:
    """Apply the budget rule to samples that are all kept so far.

    Where they are a part of what this client has `seen` (C,), its share is of that, and no anomaly
    is kept only to fill a share that the part is too small for.
    """
    here = fates.counts(KEPT)
    share = shares(profile, here if seen is None else seen, keep, run, client)
    drop_anomalies(fates, p_l)
    if seen is not None:
        share = np.where(seen > here, np.minimum(share, fates.counts(KEPT)), share)
    if p_l == AUTO:
        spare = fates.counts(KEPT) - SPARE * share
        fates.turn_highest(spare, anomaly, KEPT, REDUNDANT, leaning)
    fates.thin(share)
    fates.turn_highest(share - fates.counts(KEPT), reverse(anomaly), ANOMALOUS, KEPT)


def shares(profile: Profile, here: Counts, keep: Decimal, run: str, client: str) -> Counts:
    """Give how many of each class (C,) a client keeps of the `here` (C,) that it holds."""
    # What was not published, or is lost in noise, is at least what this client holds itself.
    whole = np.maximum(profile.count, here)
    quota = quotas(whole, keep)
    share = np.zeros(len(here), np.int64)
    for c in np.flatnonzero(here).tolist():
        part = quota[c] * int(here[c]) / int(whole[c])
        share[c] = dithered(part, quota[c], run, client, c)
    return share


def dithered(share: Fraction, quota: Fraction, run: str, client: str, c: int) -> int:
    """Round a share so that clients together meet the quota without another message.

    A class of a small quota keeps at least one sample at every client that holds it.
    """
    seed = hashlib.sha256("\0".join((run, client, str(c))).encode()).digest()
    dither = Fraction(int.from_bytes(seed[:8], "big"), 1 << 64)
    return max(int(share + dither), 1 if 0 < quota < SURE else 0)
