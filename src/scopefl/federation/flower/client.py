"""The client's side: answer the server's question, and know the coreset while training."""

import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ConfigRecord, Context, Error, Message, MessageType
from numpy.typing import NDArray

from scopefl.core.order import Rows
from scopefl.core.policy import Agreement
from scopefl.core.scores import Labels
from scopefl.core.terms import OPEN, Terms
from scopefl.data.coreset_file import write_coreset
from scopefl.data.scores_file import ScoresFile, read_scores
from scopefl.errors import ScopeError
from scopefl.federation.by_file import choose, coreset
from scopefl.federation.flower.masks import reply
from scopefl.federation.flower.records import RECORD, Answer, Order, read_order, read_question
from scopefl.federation.flower.under_call import is_called, keep_receipt
from scopefl.federation.limits import Limits, read_limits

logger = logging.getLogger("flwr")

Train = Callable[[Message, Context], Message]
Source = ScoresFile | str | Path
REFUSED = 409


@dataclass(frozen=True)
class Coreset:
    """What stays of the `scored` samples of this client: their rows, ids and labels, (K,) each."""

    rows: Rows
    ids: NDArray[Any]
    labels: Labels
    scored: int


class ScopeClient:
    """Plug into a ClientApp: `mods=[scope.mod]` and `app.query("scope")(scope.answer)`.

    `scores` is a scores file, its path, or a function of the Flower context that gives either.
    A site's own settings are read from its node configuration: `site`, `limits`, `coreset`, and
    `mode`, the privacy mode, before the app's `terms`. A noisy mode needs `keys`, the folder of
    `scope keys new`, whose ledger limits the epsilon. With `call`, a coordinator's call.json, this
    client signs what it sends, checks whose keys mask it, and keeps a receipt of the policy.
    `specimen` is the pattern of ids by which tiles of a specimen are capped.
    """

    def __init__(self, scores: Source | Callable[[Context], Source], terms: Terms = OPEN) -> None:
        self._scores = scores
        self._terms = terms

    def mod(self, message: Message, context: Context, call_next: Train) -> Message:
        """Keep the order that comes with a train message; refuse without telling file names."""
        try:
            if _is_train(message) and RECORD in message.content:
                _keep_order(message, context)
                if is_called(context):
                    keep_receipt(_order(context), context)
                self._write_coreset(context)
            return call_next(message, context)
        except ScopeError as error:
            logger.error("scope: %s", error)
            return Message(Error(REFUSED, _outline(error)), reply_to=message)

    def answer(self, message: Message, context: Context) -> Message:
        """Reply to the question with this client's profile."""
        asked, site = read_question(message.content), site_of(context)
        try:
            profile = reply(asked, self._file(context), self._terms_of(context), context)
            if "site" in context.node_config:
                logger.info("scope: %s sends its profile, %d bytes", site, len(profile))
            answer = Answer(site, asked.token, profile)
        except ScopeError as error:
            logger.error("scope: %s", error)
            answer = Answer(site, asked.token, refusal=_outline(error))
        return Message(answer.to_records(), reply_to=message)

    def coreset(self, context: Context) -> Coreset:
        """Give the samples to train on, by the order that came with the train message."""
        file, order = self._file(context), _order(context)
        agreement = Agreement.from_bytes(order.policy)
        selection = choose(file, agreement, order.rule, site_of(context), _limits(context))
        rows = np.flatnonzero(selection.kept)
        return Coreset(rows, file.ids[rows], file.labels[rows], len(selection.kept))

    def _terms_of(self, context: Context) -> Terms:
        mode = str(context.node_config.get("mode", self._terms.mode))
        return self._terms if mode == self._terms.mode else Terms.of(mode)

    def _file(self, context: Context) -> ScoresFile:
        source = self._scores(context) if callable(self._scores) else self._scores
        return source if isinstance(source, ScoresFile) else read_scores(Path(source))

    def _write_coreset(self, context: Context) -> None:
        out = context.node_config.get("coreset")
        if out is None or Path(str(out)).exists():
            return
        order = _order(context)
        agreement = Agreement.from_bytes(order.policy)
        result = coreset(
            self._file(context), agreement, order.rule, site_of(context), _limits(context)
        )
        write_coreset(result, Path(str(out)))


def site_of(context: Context) -> str:
    """Give the client's name: its site's, else its partition's number in a simulation."""
    config = context.node_config
    return str(config.get("site", config.get("partition-id", context.node_id)))


def _is_train(message: Message) -> bool:
    return message.metadata.message_type.split(".")[0] == MessageType.TRAIN


def _keep_order(message: Message, context: Context) -> None:
    # The app's own code, and mods such as LocalDpMod, see the message as if we were not there.
    context.state[RECORD] = message.content.pop(RECORD)


def _order(context: Context) -> Order:
    record = context.state.get(RECORD)
    if not isinstance(record, ConfigRecord):
        raise ScopeError(
            "no policy has come with the train message; wrap the server's strategy in Scope(...) "
            "and give this client's mod to the ClientApp"
        )
    return read_order(record)


def _limits(context: Context) -> Limits | None:
    path = context.node_config.get("limits")
    return None if path is None else read_limits(Path(str(path)))


def _outline(error: ScopeError) -> str:
    """Say what kind of thing went wrong; its text may hold file names, which stay at the site."""
    return f"the site refused ({type(error).__name__}); its own log says why"
