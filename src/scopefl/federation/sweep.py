"""What a site would keep under many settings, without scoring anything again."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scopefl.core.balance import imbalance_ratio
from scopefl.core.coreset import Selection
from scopefl.core.order import Decimal
from scopefl.core.policy import Agreement
from scopefl.core.scores import Labels
from scopefl.data.scores_file import ScoresFile
from scopefl.errors import ScopeError
from scopefl.federation.by_file import Rule, choose

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
    file: ScoresFile,
    agreement: Agreement,
    tried: Sequence[Setting],
    *,
    truth: Labels | None = None,
    client: str = "",
) -> Iterator[Outcome]:
    """Select under each setting in turn; `truth` (scored rows,) counts the wrong labels caught."""
    if truth is not None and len(truth) != len(file.labels):
        raise ScopeError(
            f"true labels must have one entry a scored sample, {len(file.labels)}, got {len(truth)}"
        )
    for setting in tried:
        selection = choose(file, replace(agreement, gamma=setting.gamma), setting.rule, client)
        yield _outcome(setting, selection, file.labels, len(file.classes), truth)


def _outcome(
    setting: Setting, selection: Selection, labels: Labels, n_classes: int, truth: Labels | None
) -> Outcome:
    whole = np.bincount(labels, minlength=n_classes)
    left = np.bincount(labels[selection.kept], minlength=n_classes)
    caught: dict[str, int] = {}
    if truth is not None:
        # A negative number says that the true label of a sample is not known.
        wrong = (truth >= 0) & (truth != labels)
        caught = {
            "wrong": int(wrong.sum()),
            "caught": int((wrong & selection.anomalous).sum()),
            "wrong_kept": int((wrong & selection.kept).sum()),
        }
    return Outcome(
        setting,
        len(labels),
        int(selection.kept.sum()),
        int(selection.anomalous.sum()),
        int(selection.redundant.sum()),
        imbalance_ratio(left, whole > 0),
        **caught,
    )
