"""One exchange of questions and answers with all sites, or the two of a masked round."""

import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from flwr.app import Message
from flwr.serverapp import Grid

from scopefl.errors import RefusedError, ScopeError
from scopefl.federation.call import Call
from scopefl.federation.flower.admission import (
    Expected,
    Outcome,
    Question,
    admit,
    answered,
    grouped,
    signed_by,
)
from scopefl.federation.flower.records import QUERY, Asked

if TYPE_CHECKING:
    from scopefl.federation.secure_sum import Roster

logger = logging.getLogger("flwr")

EXCHANGES = 4
"""Two attempts of two exchanges share the time."""


def ask(
    nodes: Mapping[int, str], call: bytes = b"", attempt: int = 0, roster: bytes = b""
) -> list[Question]:
    """Make a question for each node, each with a token of its own."""
    questions = []
    for node_id, name in nodes.items():
        asked = Asked(secrets.token_hex(8), call, attempt, roster)
        message = Message(asked.to_records(), dst_node_id=node_id, message_type=QUERY)
        questions.append(Question(message, name, asked.token))
    return questions


@dataclass(frozen=True)
class Exchange:
    """How to ask: over which grid, whom to expect, how long to wait, under which call."""

    grid: Grid
    expect: Expected
    timeout: float
    max_count: int
    call: Call | None = None

    def send(self, questions: Sequence[Question]) -> Iterable[Message]:
        """Give the replies that come in time."""
        messages = [asked.message for asked in questions]
        return self.grid.send_and_receive(messages, timeout=self.timeout)


def plain_round(how: Exchange, questions: Sequence[Question]) -> Outcome:
    """Ask for profiles as they are."""
    silent = f"no answer within {how.timeout:.0f} s"
    return admit(
        questions,
        how.send(questions),
        how.expect,
        silent=silent,
        max_count=how.max_count,
        call=how.call,
    )


def masked_round(how: Exchange, questions: Sequence[Question]) -> Outcome:
    """Ask for keys, then for profiles under their masks; once more if a site drops out between."""
    from scopefl.federation.secure_sum import MAX_ATTEMPTS, Roster

    nodes = {asked.message.metadata.dst_node_id: asked.name for asked in questions}
    how = replace(how, timeout=how.timeout / EXCHANGES)
    number = secrets.token_bytes(32) if how.call is None else how.call.digest
    before: Roster | None = None
    outcome = Outcome()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        keys = _keys(how, ask(nodes, number, attempt), outcome)
        before, told = _roster(list(keys.values()), number, attempt, before, how.call)
        those = {node: nodes[node] for node in keys}
        asked = ask(those, number, attempt, told)
        got = plain_round(how, asked)
        outcome.heard = got.heard
        outcome.absent |= got.absent
        outcome.refused |= got.refused
        if len(got.heard) == len(keys):
            return outcome
        logger.warning("scope: %s dropped out of attempt %d", ", ".join(got.absent), attempt)
        nodes = {one.node: nodes[one.node] for one in got.heard}
    causes = "; ".join(f"{site}: {why}" for site, why in outcome.absent.items())
    raise RefusedError(
        f"sites dropped out of both attempts ({causes}); start the run again when all are there"
    )


def _roster(
    keys: Sequence[bytes], number: bytes, attempt: int, before: "Roster | None", call: Call | None
) -> "tuple[Roster, bytes]":
    """Give the roster of an attempt and the message of it: under a call, the signed offers."""
    from scopefl.federation.offers import gathered, roster_of
    from scopefl.federation.secure_sum import Roster

    if call is not None:
        return roster_of(keys, call, before), gathered(keys)
    roster = Roster.of(number, attempt, keys, before.keys if before else ())
    return roster, roster.to_bytes()


def _keys(how: Exchange, questions: Sequence[Question], outcome: Outcome) -> dict[int, bytes]:
    """Give each node's new masking key, or its signed offer; enter the others as absent."""
    by_question, keys = grouped(how.send(questions)), dict[int, bytes]()
    for asked in questions:
        got = by_question.get(asked.message.metadata.message_id, [])
        try:
            answer = answered(asked, got, f"no key within {how.timeout:.0f} s")
            if how.call is not None:
                signed_by(answer, "offer", how.call)
            elif len(answer.profile) != 32:
                raise ScopeError(f"a masking key must have 32 bytes, got {len(answer.profile)}")
            keys[asked.message.metadata.dst_node_id] = answer.profile
        except ScopeError as error:
            outcome.absent[asked.label] = str(error)
            if any(reply.has_content() for reply in got):
                outcome.refused.add(asked.message.metadata.dst_node_id)
    return keys
