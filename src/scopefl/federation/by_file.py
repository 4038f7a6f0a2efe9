"""The round by file: a profile out of scores, a policy out of profiles, a coreset out of both."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from scopefl.core.budget import level
from scopefl.core.coreset import Selection, prune
from scopefl.core.envelope import LARGEST
from scopefl.core.fates import Counts, Fates, FatesInMemory
from scopefl.core.groups import agree_groups, is_policy
from scopefl.core.order import Decimal, exact
from scopefl.core.policy import Agreement, agree, check_same_kit
from scopefl.core.profile import MAX_COUNT
from scopefl.data.coreset_file import CoresetFile, coreset_of
from scopefl.data.files import read_bytes
from scopefl.data.scores_file import NOT_AT_ALL, ScoresFile
from scopefl.errors import RefusedError, ScopeError
from scopefl.federation.limits import Limits, give_back


@dataclass(frozen=True)
class Rule:
    """How to select: the paper's rule, or the budget rule when `keep` is given."""

    p_l: Decimal = 0.1
    p_f: Decimal = 0.5
    beta: float = 0.5
    keep: Decimal | None = None
    run: str = ""
    prune_anyway: bool = False
    """Prune by anomaly even where the encoder was found not to read the classes."""

    @property
    def prunes_by_anomaly(self) -> bool:
        """Say whether any image may be dropped as anomalous."""
        return self.p_l == "auto" or exact("p_l", self.p_l) > 0

    @property
    def settings(self) -> dict[str, Any]:
        """Give what reproduces a selection."""
        if self.keep is None:
            return {"rule": "paper", "p_l": self.p_l, "p_f": self.p_f, "beta": self.beta}
        return {"rule": "budget", "keep": self.keep, "p_l": self.p_l, "run": self.run}


def decide(
    fates: Fates,
    agreement: Agreement,
    rule: Rule,
    client: str,
    limits: Limits | None = None,
    seen: Counts | None = None,
) -> None:
    """Apply a rule under the sites' agreement to samples that are all kept; the limits win."""
    if rule.keep is None:
        prune(fates, p_l=rule.p_l, p_f=rule.p_f, beta=rule.beta)
    else:
        level(
            fates, agreement.profile, keep=rule.keep, p_l=rule.p_l, run=rule.run, client=client,
            seen=seen,
        )  # fmt: skip
    if limits is not None:
        give_back(limits, fates)


def choose(
    file: ScoresFile,
    agreement: Agreement,
    rule: Rule,
    client: str,
    limits: Limits | None = None,
    seen: Counts | None = None,
) -> Selection:
    """Apply a rule to a site's scores under the sites' agreement; the site's limits win."""
    check_same_kit(file.fingerprint, agreement.fingerprint, "the scores", "the policy")
    fates = FatesInMemory(file.scores, file.labels, agreement.policy, file.ids)
    decide(fates, agreement, rule, client, limits, seen)
    return Selection.of(fates.fate)


def refuse_chance(settings: Mapping[str, Any], rule: Rule) -> None:
    """Refuse to drop images as anomalous on the word of an encoder that reads them by chance."""
    verdict = settings.get("fitness", {}).get("verdict")
    if verdict != NOT_AT_ALL or rule.prune_anyway or not rule.prunes_by_anomaly:
        return
    raise RefusedError(
        "the encoder behind these scores reads the classes not at all, so what it calls anomalous "
        "may be good images; score against visual prototypes (scope centroids), or choose by "
        "redundancy alone (--p-l 0), or insist (--prune-anyway)"
    )


def coreset(
    file: ScoresFile,
    agreement: Agreement,
    rule: Rule,
    client: str,
    limits: Limits | None = None,
    seen: Counts | None = None,
) -> CoresetFile:
    """Select, and say for every input what became of it and why.

    `seen` (C,) counts what came to this site where the scores are a bounded store's (budget rule).
    """
    refuse_chance(file.settings, rule)
    selection = choose(file, agreement, rule, client, limits, seen)
    settings = settings_of(agreement, rule, client, limits)
    return coreset_of(file, selection, agreement.policy, settings)


def settings_of(
    agreement: Agreement, rule: Rule, client: str, limits: Limits | None
) -> dict[str, Any]:
    """Give all that a selection depends on beside the scores."""
    return {
        **rule.settings,
        "client": client,
        "gamma": agreement.gamma,
        "sites": agreement.sites,
        "sites_expected": agreement.expected,
        "policy_version": agreement.version,
        **(asdict(limits) if limits else {}),
    }


def read_agreement(path: Path) -> Agreement:
    """Read the policy file that the coordinator sent back."""
    return Agreement.from_bytes(read_bytes(path, LARGEST))


def merge(
    paths: Sequence[Path],
    *,
    expected: int | Sequence[str] | None = None,
    gamma: float = 1.0,
    max_count: int = MAX_COUNT,
    rule: str = "sum",
) -> Agreement:
    """Merge profile files; `expected` is how many sites there are, or their file names."""
    names = [path.stem for path in paths]
    _refuse_missing(names, expected)
    messages = [read_bytes(path, LARGEST) for path in paths]
    for place, message in enumerate(messages):
        twin = messages.index(message)
        if twin < place:
            raise RefusedError(
                f"each site must be merged once, but {paths[twin]} and {paths[place]} are the "
                "same profile; leave one out"
            )
    if rule != "sum" and all(map(is_policy, messages)):
        return agree_groups(messages, [str(path) for path in paths], gamma)
    number = len(expected) if isinstance(expected, Sequence) else expected
    return agree(
        messages,
        names=[str(path) for path in paths],
        expected=number,
        gamma=gamma,
        max_count=max_count,
        rule=rule,
    )


def _refuse_missing(names: Sequence[str], expected: int | Sequence[str] | None) -> None:
    if isinstance(expected, int) and len(names) != expected:
        raise RefusedError(
            f"{expected} sites were expected and {len(names)} profiles given "
            f"({', '.join(names)}); collect the missing ones or change --expect"
        )
    if isinstance(expected, Sequence):
        missing = [name for name in expected if name not in names]
        strange = [name for name in names if name not in expected]
        if missing or strange:
            raise RefusedError(
                f"profiles must come from the expected sites; missing: {_listed(missing)}; "
                f"not expected: {_listed(strange)}"
            )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def parse_expected(text: str | None) -> int | list[str] | None:
    """Read `--expect`: a number of sites, or their names with commas between.

    >>> parse_expected("3"), parse_expected("north,south")
    (3, ['north', 'south'])
    """
    if text is None:
        return None
    if text.isascii() and text.isdigit():
        return int(text)
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise ScopeError(
            f"--expect must be a number or distinct names like north,south; got {text!r}"
        )
    return names
