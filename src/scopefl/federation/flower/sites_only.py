"""The grid as a strategy may see it: only sites that may take part, and no endless wait for more.

Flower's strategies sample from whoever is connected, and ask again each second, for ever, until
there are as many as they want.
"""

import time
from collections.abc import Callable, Iterable
from typing import Any

from flwr.app import Message
from flwr.serverapp import Grid

from scopefl.errors import RefusedError


class SitesOnly(Grid):
    """Flower's grid, without the nodes that may not take part, for `patience` seconds."""

    def __init__(
        self, grid: Grid, may_take_part: Callable[[int, str], bool], patience: float
    ) -> None:
        self._grid = grid
        self._may_take_part = may_take_part
        self._patience = patience
        self._until = time.monotonic() + patience

    def get_nodes(self) -> Iterable[Any]:
        """Give the connected sites; raise once a strategy has waited too long for more."""
        nodes = [
            node for node in self._grid.get_nodes() if self._may_take_part(node.node_id, node.name)
        ]
        if time.monotonic() > self._until:
            there = ", ".join(node.name or f"node {node.node_id}" for node in nodes)
            raise RefusedError(
                f"the strategy waits for more sites than are connected ({there or 'none'}), for "
                f"{self._patience:g} s now; bring the others back or lower its min_available_nodes"
            )
        return nodes

    def get_node_ids(self) -> Iterable[int]:
        """Give the connected sites' numbers."""
        return [node.node_id for node in self.get_nodes()]

    def set_run(self, run: Any) -> None:
        """Pass on."""
        self._grid.set_run(run)

    @property
    def run(self) -> Any:
        """Pass on."""
        return self._grid.run

    def create_message(self, *given: Any, **named: Any) -> Message:
        """Pass on."""
        return self._grid.create_message(*given, **named)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Pass on."""
        return self._grid.push_messages(messages)

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Pass on."""
        return self._grid.pull_messages(message_ids)

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Pass on."""
        return self._grid.send_and_receive(messages, timeout=timeout)
