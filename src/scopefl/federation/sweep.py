"""What a site would keep under many settings, without scoring anything again."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.balance import imbalance_ratio
from scopefl.core.fates import ANOMALOUS, KEPT, REDUNDANT, Fate
from scopefl.core.order import Decimal
from scopefl.core.policy import Agreement
from scopefl.data.batches import LABELS, ScoresTable
from scopefl.data.scores_file import ScoresFile
from scopefl.data.truth import Truth, of_scored
from scopefl.errors import ScopeError
from scopefl.federation.by_file import Rule, choose
from scopefl.federation.by_path import decided

MOST_SETTINGS = 10_000


@dataclass(frozen=True)
class Setting:
    """A selection rule, and the gamma of the rarity weight it goes with."""

    rule: Rule
    gamma: float


@dataclass(frozen=True)
class Outcome:
    """What one setting does: counts, imbalance ratio of what is kept, and wrong labels."""

    setting: Setting
    images: int
    kept: int
    anomalous: int
    redundant: int
    imbalance: float
    wrong: int | None = None
    caught: int | None = None
    wrong_kept: int | None = None

    @property
    def row(self) -> dict[str, Any]:
        """Give settings and outcome as a row of a table; None where a class is left empty."""
        rule = {name: value for name, value in self.setting.rule.settings.items() if value != ""}
        gamma = {"gamma": self.setting.gamma} if rule["rule"] == "paper" else {}
        noise = {}
        if self.wrong is not None:
            noise = {
                "caught": (self.caught or 0) / max(self.wrong, 1),
                "wrong among kept": (self.wrong_kept or 0) / max(self.kept, 1),
            }
        return {
            **rule,
            **gamma,
            "kept": self.kept,
            "anomalous": self.anomalous,
            "redundant": self.redundant,
            "kept fraction": self.kept / max(self.images, 1),
            "imbalance ratio": self.imbalance if np.isfinite(self.imbalance) else None,
            **noise,
        }


def settings(
    *,
    p_l: Sequence[Decimal] = (0.1,),
    p_f: Sequence[Decimal] = (0.5,),
    beta: Sequence[float] = (0.5,),
    gamma: Sequence[float] = (1.0,),
    keep: Sequence[Decimal] = (),
) -> list[Setting]:
    """Combine every value with every other; `keep` asks for the budget rule.

    >>> [one.rule.p_f for one in settings(p_f=("0.3", "0.5"))]
    ['0.3', '0.5']
    """
    if not (p_l and p_f and beta and gamma):
        raise ScopeError("each option of a sweep must be given at least one value")
    if keep:
        rules = [Rule(p_l=low, keep=share) for share, low in itertools.product(keep, p_l)]
        return [Setting(rule, 1.0) for rule in rules]
    found = [
        Setting(Rule(p_l=low, p_f=share, beta=near), weight)
        for low, share, near, weight in itertools.product(p_l, p_f, beta, gamma)
    ]
    if len(found) > MOST_SETTINGS:
        raise ScopeError(
            f"a sweep has at most {MOST_SETTINGS} settings, got {len(found)}; give fewer values"
        )
    return found


def sweep(
    file: ScoresFile | ScoresTable,
    agreement: Agreement,
    tried: Sequence[Setting],
    *,
    truth: Truth | None = None,
    client: str = "",
) -> Iterator[Outcome]:
    """Select under each setting in turn; `truth` (rows,) counts the wrong labels caught."""
    if truth is not None and len(truth) != file.rows:
        raise ScopeError(f"true labels must have one entry a row, {file.rows}, got {len(truth)}")
    for setting in tried:
        under = replace(agreement, gamma=setting.gamma)
        if isinstance(file, ScoresTable):
            with decided(file, under, setting.rule, client) as fates:
                parts = ((here.file, here.fate) for here in fates.stretches(*LABELS))
                outcome = _outcome(setting, parts, len(file.classes), truth)
        else:
            fate = choose(file, under, setting.rule, client).fate
            outcome = _outcome(setting, [(file, fate)], len(file.classes), truth)
        yield outcome


def _outcome(
    setting: Setting,
    parts: Iterable[tuple[ScoresFile, Fate]],
    n_classes: int,
    truth: Truth | None,
) -> Outcome:
    cells, wrong = np.zeros(3 * n_classes, np.int64), np.zeros(3, np.int64)
    start = 0
    for file, fate in parts:
        cells += np.bincount(file.labels * 3 + fate, minlength=len(cells))
        if truth is not None:
            wrong += np.bincount(fate[_wrong(truth, file, start)], minlength=3)
        start += file.rows
    count = cells.reshape(n_classes, 3)
    by_fate = count.sum(axis=0).tolist()
    known = (int(wrong.sum()), int(wrong[ANOMALOUS]), int(wrong[KEPT]))
    return Outcome(
        setting,
        sum(by_fate),
        by_fate[KEPT],
        by_fate[ANOMALOUS],
        by_fate[REDUNDANT],
        imbalance_ratio(count[:, KEPT], count.sum(axis=1) > 0),
        *(known if truth is not None else ()),
    )


def _wrong(truth: Truth, file: ScoresFile, start: int) -> NDArray[np.bool_]:
    """Mark the scored rows whose label is wrong; a negative truth is one that is not known."""
    known = of_scored(truth, file, start)
    wrong: NDArray[np.bool_] = (known >= 0) & (known != file.labels)
    return wrong
