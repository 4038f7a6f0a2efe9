"""The sentences: why one image was kept or dropped, and what a profile says of a class."""

from collections.abc import Mapping, Sequence
from typing import Any

from scopefl.report.collection import ANOMALOUS, REDUNDANT, Collection


def selected(settings: Sequence[Mapping[str, Any]]) -> str:
    """Say by which rule the sites selected.

    >>> selected([{}])
    'How these images were selected was not recorded.'
    """
    told = {_rule(one): None for one in settings}
    if len(told) == 1:
        return next(iter(told))
    return "The sites did not all select by the same settings: see below."


def _rule(settings: Mapping[str, Any]) -> str:
    if settings.get("rule") == "budget":
        return (
            f"The budget rule, to keep {_percent(settings['keep'])} of all sites' images: "
            f"large classes are levelled, small ones stay whole, and {_odd(settings)} goes first."
        )
    if settings.get("rule") == "paper":
        return (
            f"The paper's rule: {_odd(settings)} went (p_l), then the most redundant "
            f"{_percent(settings['p_f'])} of each class that is common here and everywhere "
            "(p_f)."
        )
    return "How these images were selected was not recorded."


def _odd(settings: Mapping[str, Any]) -> str:
    if settings["p_l"] == "auto":
        return "what looks like its rival class and not like its own"
    return f"the most anomalous {_percent(settings['p_l'])} of a site's images"


def _percent(fraction: Any) -> str:
    r"""Give a fraction as it was written, in percent.

    >>> _percent("0.125")
    '12.5\xa0%'
    """
    return f"{100 * float(fraction):g}\N{NO-BREAK SPACE}%"


def reason(collection: Collection, row: int) -> str:
    """Say in one sentence why a sample met its fate."""
    label, rival = collection.classes[collection.label[row]], collection.rival_name(row)
    rs, s_neg = collection.rs[row], collection.s_neg[row]
    if collection.fate[row] == ANOMALOUS:
        if s_neg > rs:
            return (
                f"Labelled {label}, but it looks more like {rival}: "
                f"S_neg {s_neg:.3f} is above RS {rs:.3f}."
            )
        return (
            f"Labelled {label} and nearest to it, but far closer to {rival} "
            f"than images of {label} usually are at any site."
        )
    if collection.fate[row] == REDUNDANT:
        if collection.redundancy[row] > 0:
            return f"A typical {label}: the class is common, and enough like it stay."
        return f"The class {label} is common, and enough images of it stay without this one."
    if s_neg > rs:
        return f"Kept, although it looks more like {rival} than {label}: worth a look."
    if collection.anomaly[row] > collection.redundancy[row]:
        return f"Kept as {label}, though {rival} is near."
    return f"Kept: a typical {label}, of a class from which others like it went."


def revealed(count: int) -> str:
    """Say what a class's sums tell about single images, given how many were summed.

    >>> revealed(0)
    'that the class is absent here'
    """
    if count == 0:
        return "that the class is absent here"
    if count == 1:
        return "the three scores of the one image, exactly"
    if count == 2:
        return "the three scores of both images, exactly"
    if count == 3:
        return "the three scores of all three images, by solving three equations"
    return f"that there are {count:,}, and their averages and spreads; no single image"


def learned(sites: int, *, noisy: bool = False) -> str:
    """Say what the policy tells one site about the others."""
    if noisy:
        return f"{sites} sites took part, and noise stands between each and what the others hold."
    if sites == 1:
        return "One site took part: the policy is its own profile, sent back."
    if sites == 2:
        return (
            "Two sites took part: each learns the other's counts and averages exactly, by taking "
            "its own from the policy."
        )
    return (
        f"{sites} sites took part: a site learns the sum over the other {sites - 1}, and if all "
        "of those but one conspire, the counts and averages of the last."
    )


def balance(before: float, after: float) -> str:
    """Say how the largest class compares with the smallest, before and after.

    >>> balance(10, 2.5)
    'The largest class was 10 times the smallest; now it is 2.5 times.'
    """
    now = "one class is left empty" if after == float("inf") else f"it is {after:.3g} times"
    return f"The largest class was {before:.3g} times the smallest; now {now}."
