"""The profile round: wait for the sites, ask each, merge, and say whom the policy speaks for."""

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from flwr.serverapp import Grid

from scopefl.core.policy import Agreement, agree
from scopefl.core.profile import MAX_COUNT
from scopefl.errors import RefusedError
from scopefl.federation.answering import conclude
from scopefl.federation.call import Call
from scopefl.federation.flower.admission import Expected, Outcome, Question
from scopefl.federation.flower.asking import Exchange, ask, masked_round, plain_round

logger = logging.getLogger("flwr")


@dataclass(frozen=True)
class Coverage:
    """Who stands behind a policy: the sites merged, and why each other one was not.

    `nodes` gives the name of each node that was asked, `refused` those that answered in vain.
    """

    expected: int
    sites: tuple[str, ...]
    absent: Mapping[str, str]
    nodes: Mapping[int, str] = field(default_factory=dict)
    refused: frozenset[int] = frozenset()
    transcript: bytes = b""

    def __str__(self) -> str:
        """Say it in one line, the sites of one cause together.

        >>> print(Coverage(3, ("north",), {"west": "no answer", "east": "no answer"}))
        1 of 3 sites (east, west: no answer)
        """
        alike: dict[str, list[str]] = {}
        for site, why in sorted(self.absent.items()):
            alike.setdefault(why, []).append(site)
        causes = "; ".join(f"{_listed(sites)}: {why}" for why, sites in alike.items())
        return f"{len(self.sites)} of {self.expected} sites" + (f" ({causes})" if causes else "")


def profile_round(
    grid: Grid,
    expect: Expected,
    *,
    quorum: int | None = None,
    gamma: float = 1.0,
    timeout: float = 600.0,
    max_count: int = MAX_COUNT,
    masked: bool = False,
    robust: bool = False,
    call: Call | None = None,
) -> tuple[Agreement, Coverage]:
    """Ask and merge; fewer sites than `quorum` (all that are expected, if None) are refused.

    `masked` is for sites of a masked mode: their keys are asked for first, so that only the total
    is ever seen; where a site drops out, the others are asked once more, with new keys. `robust`
    merges by the weighted median. A `call` names the sites and the mode; only what its sites signed
    is taken, and the coverage holds the transcript for their receipts.
    """
    if call is not None:
        expect, masked = list(call.sites), call.terms.masked
    expected = expect if isinstance(expect, int) else len(expect)
    quorum = expected if quorum is None else quorum
    started = time.monotonic()
    # Half the time is for the sites to connect, so that those who did have time to answer.
    nodes = _wait_for_nodes(grid, expected, started + timeout / 2)
    questions = ask(nodes, b"" if call is None else call.digest)
    if len(questions) < quorum:
        raise RefusedError(
            f"{quorum} sites must be connected, {len(questions)} were within {timeout / 2:g} s "
            f"({_listed([asked.label for asked in questions])}); start the others, "
            "allow more time or choose a lower quorum"
        )
    left = timeout - (time.monotonic() - started)
    rounds = masked_round if masked else plain_round
    outcome = rounds(Exchange(grid, expect, left, max_count, call), questions)
    unseen = expected - len(questions)
    if unseen > 0:
        outcome.absent[f"{unseen} more"] = f"not connected within {timeout / 2:g} s"
    coverage = _coverage(expected, questions, outcome)
    _check(coverage, quorum)
    rule = "median" if robust else "sum"
    if call is not None:
        return _under_call(outcome, coverage, call, gamma, rule)
    agreement = agree(
        [one.release for one in outcome.heard],
        names=coverage.sites,
        expected=expected,
        gamma=gamma,
        max_count=max_count,
        rule=rule,
    )
    return agreement, coverage


def _under_call(
    outcome: Outcome, coverage: Coverage, call: Call, gamma: float, rule: str
) -> tuple[Agreement, Coverage]:
    signed = [one.signed for one in outcome.heard]
    agreement, transcript = conclude(signed, call, gamma=gamma, rule=rule)
    return agreement, replace(coverage, transcript=transcript.to_bytes())


def _coverage(expected: int, questions: Sequence[Question], outcome: Outcome) -> Coverage:
    labels = {asked.message.metadata.dst_node_id: asked.label for asked in questions}
    nodes = labels | {one.node: one.site for one in outcome.heard}
    sites = tuple(one.site for one in outcome.heard)
    return Coverage(expected, sites, outcome.absent, nodes, frozenset(outcome.refused))


def names_of(grid: Grid) -> dict[int, str]:
    """Give the connected nodes' ids and registered names."""
    return {node.node_id: node.name for node in grid.get_nodes()}


def _wait_for_nodes(grid: Grid, expected: int, deadline: float) -> dict[int, str]:
    """Give the connected nodes' ids and registered names, once enough of them are there."""
    # Flower's server may ask while nodes still register: a run of 100 once merged 2 profiles.
    said = -1
    while True:
        nodes = names_of(grid)
        if len(nodes) >= expected or time.monotonic() >= deadline:
            return nodes
        if len(nodes) != said:
            said = len(nodes)
            logger.info("scope: %d of %d sites are connected", said, expected)
        time.sleep(0.2)


def _check(coverage: Coverage, quorum: int) -> None:
    merged = len(coverage.sites)
    if merged > coverage.expected:
        raise RefusedError(
            f"{coverage.expected} sites were expected and {merged} answered "
            f"({', '.join(coverage.sites)}); end the strangers or change expect"
        )
    if merged < max(quorum, 1):
        raise RefusedError(
            f"a policy must speak for at least {quorum} sites, this one would for {coverage}; "
            "bring the others back or choose a lower quorum"
        )
    if merged < coverage.expected:
        logger.warning("scope: the policy speaks for ONLY %s", coverage)
    else:
        logger.info("scope: the policy speaks for %s", coverage)


def _listed(sites: Sequence[str], most: int = 12) -> str:
    more = f" and {len(sites) - most} more" if len(sites) > most else ""
    return ", ".join(sites[:most]) + more or "none"
