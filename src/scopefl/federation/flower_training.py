"""The same training on Flower: the loop of the one-process runner, its clients behind messages.

Both runners give the same bits where numpy uses the same number of threads in both.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flwr.app import ArrayRecord, ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.simulation import run_simulation

from scopefl.errors import ScopeError
from scopefl.train.checkpoint import Progress, digest_of
from scopefl.train.federated import federate, follow, history_of, train_client
from scopefl.train.history import History
from scopefl.train.learner import Examples, Learner, Weights
from scopefl.train.plan import Plan

WEIGHTS, ORDER, ABOUT = "weights", "order", "about"
TIMEOUT = 3600.0

ExamplesOf = Callable[[int], Examples]
"""Gives a client's own examples by its number, in the process where that client trains."""


def client_app(learner: Learner, plan: Plan, examples_of: ExamplesOf) -> ClientApp:
    """Give the app of a client: it says who it is and how much it has, and trains when asked."""
    app = ClientApp()

    @app.query()
    def tell(message: Message, context: Context) -> Message:
        client = _client(context)
        about = ConfigRecord({"client": client, "samples": len(examples_of(client))})
        return Message(RecordDict({ABOUT: about}), reply_to=message)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        client, number = _client(context), _whole(message, ORDER, "round")
        mine = examples_of(client)
        trained = train_client(learner, _weights(message), mine, plan, number, client)
        return Message(RecordDict({WEIGHTS: ArrayRecord(trained)}), reply_to=message)

    return app


def train_on(
    grid: Grid,
    learner: Learner,
    n_clients: int,
    test: Examples,
    plan: Plan,
    evaluate_every: int = 1,
    checkpoint: Path | None = None,
    data: str = "",
) -> History:
    """Train on the clients behind a grid, once all of them have said who they are.

    With `checkpoint` the training goes on where that file ends; `data` names what it is on.
    """
    nodes, sizes = _clients(grid, n_clients)

    def train_there(weights: Weights, number: int, chosen: Sequence[int]) -> Iterable[Weights]:
        order = ConfigRecord({"round": number})
        content = RecordDict({WEIGHTS: ArrayRecord(weights), ORDER: order})
        replies = _ask(grid, [nodes[client] for client in chosen], "train", content)
        return (_weights(replies[nodes[client]]) for client in chosen)

    def rounds_from(progress: Progress | None) -> Iterator[Progress]:
        return federate(learner, sizes, test, plan, train_there, progress, evaluate_every)

    done = follow(rounds_from, plan, data, checkpoint)
    return history_of(done, test, learner.n_classes)


def simulate(
    learner: Learner,
    n_clients: int,
    examples_of: ExamplesOf,
    test: Examples,
    plan: Plan,
    evaluate_every: int = 1,
    checkpoint: Path | None = None,
) -> History:
    """Train on Flower's simulation engine, one core a client, to the checkpoints of `run`."""
    histories: list[History] = []
    server = ServerApp()
    data = digest_of([*map(examples_of, range(n_clients)), test]) if checkpoint else ""

    @server.main()
    def main(grid: Grid, context: Context) -> None:  # noqa: ARG001
        done = train_on(grid, learner, n_clients, test, plan, evaluate_every, checkpoint, data)
        histories.append(done)

    one_core: dict[str, Any] = {"client_resources": {"num_cpus": 1, "num_gpus": 0.0}}
    app = client_app(learner, plan, examples_of)
    run_simulation(server, app, n_clients, backend_config=one_core)
    return histories[0]


def _clients(grid: Grid, n_clients: int) -> tuple[dict[int, int], list[int]]:
    """Give the node of each client, and how much each has, by client number."""
    # Nodes register one by one, and a server that asks too early trains on a few of them.
    nodes: list[int] = []
    deadline = time.monotonic() + TIMEOUT
    while len(nodes) < n_clients and time.monotonic() < deadline:
        time.sleep(0.1)
        nodes = list(grid.get_node_ids())
    replies = _ask(grid, nodes, "query", RecordDict())
    of_client = {_whole(reply, ABOUT, "client"): node for node, reply in replies.items()}
    if sorted(of_client) != list(range(n_clients)):
        raise ScopeError(
            f"clients 0 to {n_clients - 1} must answer, got {sorted(of_client)}; "
            "start one node for each, with partition-id as its number"
        )
    sizes = [_whole(replies[of_client[client]], ABOUT, "samples") for client in range(n_clients)]
    return of_client, sizes


def _ask(grid: Grid, nodes: Sequence[int], kind: str, content: RecordDict) -> Mapping[int, Message]:
    """Send every node the same and give each one's answer by node; one that fails ends it all."""
    messages = [Message(content, dst_node_id=node, message_type=kind) for node in nodes]
    replies = {
        reply.metadata.src_node_id: reply
        for reply in grid.send_and_receive(messages, timeout=TIMEOUT)
    }
    for node in nodes:
        if node not in replies:
            raise ScopeError(f"node {node} must answer within {TIMEOUT:g} s, it did not")
        if replies[node].has_error():
            raise ScopeError(f"node {node} failed: {replies[node].error.reason}")
    return replies


def _client(context: Context) -> int:
    return int(context.node_config["partition-id"])


def _whole(message: Message, record: str, name: str) -> int:
    value = message.content.config_records[record][name]
    if not isinstance(value, int):
        raise ScopeError(f"{name} in a message must be a whole number, got {value!r}")
    return value


def _weights(message: Message) -> Weights:
    return message.content.array_records[WEIGHTS].to_numpy_ndarrays()
