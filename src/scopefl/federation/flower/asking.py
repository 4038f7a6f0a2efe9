"""One exchange of questions and answers with all sites, or the two of a masked round."""

import logging
import secrets
from collections.abc import Mapping, Sequence

from flwr.app import Message
from flwr.serverapp import Grid

from scopefl.errors import RefusedError, ScopeError
from scopefl.federation.flower.admission import (
    Expected,
    Outcome,
    Question,
    admit,
    answered,
    grouped,
)
from scopefl.federation.flower.records import QUERY, Asked

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


def plain_round(
    grid: Grid, questions: Sequence[Question], expect: Expected, timeout: float, max_count: int
) -> Outcome:
    """Ask for profiles as they are."""
    replies = grid.send_and_receive([asked.message for asked in questions], timeout=timeout)
    silent = f"no answer within {timeout:.0f} s"
    return admit(questions, replies, expect, silent=silent, max_count=max_count)


def masked_round(
    grid: Grid, questions: Sequence[Question], expect: Expected, timeout: float, max_count: int
) -> Outcome:
    """Ask for keys, then for profiles under their masks; once more if a site drops out between."""
    from scopefl.federation.secure_sum import MAX_ATTEMPTS, Roster

    nodes = {asked.message.metadata.dst_node_id: asked.name for asked in questions}
    call, spent = secrets.token_bytes(32), list[bytes]()
    outcome = Outcome()
    for attempt in range(1, MAX_ATTEMPTS + 1):
        keys = _keys(grid, ask(nodes, call, attempt), timeout / EXCHANGES, outcome)
        roster = Roster.of(call, attempt, list(keys.values()), spent)
        those = {node: nodes[node] for node in keys}
        asked = ask(those, call, attempt, roster.to_bytes())
        got = plain_round(grid, asked, expect, timeout / EXCHANGES, max_count)
        outcome.heard = got.heard
        outcome.absent |= got.absent
        outcome.refused |= got.refused
        if len(got.heard) == len(keys):
            return outcome
        logger.warning("scope: %s dropped out of attempt %d", ", ".join(got.absent), attempt)
        spent += keys.values()
        nodes = {one.node: nodes[one.node] for one in got.heard}
    causes = "; ".join(f"{site}: {why}" for site, why in outcome.absent.items())
    raise RefusedError(
        f"sites dropped out of both attempts ({causes}); start the run again when all are there"
    )


def _keys(
    grid: Grid, questions: Sequence[Question], timeout: float, outcome: Outcome
) -> dict[int, bytes]:
    """Give each node's new masking key; enter the others as absent."""
    replies = grid.send_and_receive([asked.message for asked in questions], timeout=timeout)
    by_question, keys = grouped(replies), dict[int, bytes]()
    for asked in questions:
        got = by_question.get(asked.message.metadata.message_id, [])
        try:
            key = answered(asked, got, f"no key within {timeout:.0f} s").profile
            if len(key) != 32:
                raise ScopeError(f"a masking key must have 32 bytes, got {len(key)}")
            keys[asked.message.metadata.dst_node_id] = key
        except ScopeError as error:
            outcome.absent[asked.label] = str(error)
            if any(reply.has_content() for reply in got):
                outcome.refused.add(asked.message.metadata.dst_node_id)
    return keys
