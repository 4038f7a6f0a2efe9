"""The server's side: a profile round before any Flower strategy, and the order with every train."""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import Result, Strategy

from scopefl.core.policy import Agreement
from scopefl.core.profile import MAX_COUNT
from scopefl.errors import RefusedError, ScopeError
from scopefl.federation.by_file import Rule
from scopefl.federation.call import read_call
from scopefl.federation.flower.admission import Expected
from scopefl.federation.flower.profile_round import Coverage, names_of, profile_round
from scopefl.federation.flower.records import RECORD, Order
from scopefl.federation.flower.sites_only import SitesOnly
from scopefl.federation.flower.updates import usable, weighs_nothing

logger = logging.getLogger("flwr")


@dataclass
class ScopeResult(Result):
    """Flower's result, the agreement the sites selected by, and who stands behind it."""

    agreement: Agreement | None = None
    coverage: Coverage | None = None


class Scope(Strategy):
    """Let `inner` train on coresets that the sites agree on first.

    `expect` is how many sites there are, or their names; fewer are refused unless `quorum` is set.
    `masked` is for the masked privacy modes, `robust` merges by the weighted median of sites. With
    `call`, a call.json of `scope call`, sites and mode are the call's and every answer is signed.
    """

    def __init__(
        self,
        inner: Strategy,
        *,
        expect: Expected,
        quorum: int | None = None,
        rule: Rule | None = None,
        gamma: float = 1.0,
        timeout: float = 600.0,
        max_samples: int = MAX_COUNT,
        masked: bool = False,
        robust: bool = False,
        call: str | Path | None = None,
    ) -> None:
        self.inner = inner
        self.expect = expect
        self.quorum = quorum
        self.rule = rule or Rule()
        self.gamma = gamma
        self.timeout = timeout
        self.max_samples = max_samples
        self.masked = masked
        self.robust = robust
        self.call = None if call is None else read_call(Path(call))
        self.agreement: Agreement | None = None
        self.coverage: Coverage | None = None
        self._asked: list[Message] = []
        self._names: dict[int, str] = {}
        self._patience = self.timeout
        self._sent: ArrayRecord | None = None

    def summary(self) -> None:
        """Log the settings, then the inner strategy's."""
        logger.info("\t├──> SCOPE: %s", self.rule.settings)
        self.inner.summary()

    def start(
        self,
        grid: Grid,
        initial_arrays: ArrayRecord,
        num_rounds: int = 3,
        timeout: float = 3600,
        train_config: ConfigRecord | None = None,
        evaluate_config: ConfigRecord | None = None,
        evaluate_fn: Callable[[int, ArrayRecord], MetricRecord | None] | None = None,
    ) -> ScopeResult:
        """Run the profile round, then the inner strategy's rounds on the coresets."""
        self.agreement, self.coverage = profile_round(
            grid,
            self.expect,
            quorum=self.quorum,
            gamma=self.gamma,
            timeout=self.timeout,
            max_count=self.max_samples,
            masked=self.masked,
            robust=self.robust,
            call=self.call,
        )
        self._patience = timeout
        result = super().start(
            grid, initial_arrays, num_rounds, timeout, train_config, evaluate_config, evaluate_fn
        )
        return ScopeResult(**vars(result), agreement=self.agreement, coverage=self.coverage)

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Give the inner strategy's messages, each with the order to select."""
        if self.agreement is None:
            raise ScopeError("the sites must agree before they train; call start()")
        transcript = self.coverage.transcript if self.coverage else b""
        order = Order(self.agreement.to_bytes(), self.rule, transcript).to_record()
        sites = SitesOnly(grid, self._may_take_part, self._patience)
        self._ask(self.inner.configure_train(server_round, arrays, config, sites), grid, arrays)
        for message in self._asked:
            message.content[RECORD] = order
        return self._asked

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Let the inner strategy average what is fit for it; name the sites whose update is not."""
        good = self._usable(f"training round {server_round}", replies)
        if self._asked and not good:
            raise RefusedError(
                f"training round {server_round} must have a usable update of at least one site "
                "that trained on any sample, got none; the causes are in the log above"
            )
        return self.inner.aggregate_train(server_round, good)

    def configure_evaluate(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> list[Message]:
        """Give the inner strategy's messages."""
        sites = SitesOnly(grid, self._may_take_part, self._patience)
        self._ask(self.inner.configure_evaluate(server_round, arrays, config, sites), grid, None)
        return self._asked

    def aggregate_evaluate(
        self, server_round: int, replies: Iterable[Message]
    ) -> MetricRecord | None:
        """Let the inner strategy average the metrics that are fit for it."""
        good = self._usable(f"evaluation round {server_round}", replies)
        return self.inner.aggregate_evaluate(server_round, good)

    def _ask(self, messages: Iterable[Message], grid: Grid, sent: ArrayRecord | None) -> None:
        """Remember what was asked of whom."""
        self._names = names_of(grid) | dict(self.coverage.nodes if self.coverage else {})
        self._asked, self._sent = list(messages), sent

    def _may_take_part(self, node: int, name: str) -> bool:
        """Tell a site that was merged, or was only silent, from a stranger or one refused."""
        if self.coverage is not None and node in self.coverage.refused:
            return False
        return not name or isinstance(self.expect, int) or name in self.expect

    def _usable(self, when: str, replies: Iterable[Message]) -> list[Message]:
        asked = {
            message.metadata.message_id: self._names.get(message.metadata.dst_node_id)
            or f"node {message.metadata.dst_node_id}"
            for message in self._asked
        }
        weight = _weight(self.inner)
        good, absent = usable(list(replies), asked, weight, self._sent)
        for site, why in absent.items():
            logger.warning("scope: %s goes on without %s: %s", when, site, why)
        return [] if weighs_nothing(good, weight) else good


def _weight(strategy: Strategy | None) -> str | None:
    """Find the metric that a strategy, or the one it wraps, weighs replies by."""
    while strategy is not None:
        key = getattr(strategy, "weighted_by_key", None)
        if isinstance(key, str):
            return key
        strategy = getattr(strategy, "strategy", None)
    return None
