"""Sites with scores, and a federation of them on Flower's own in-memory state, without processes.

The link state, the grid, the messages and the ClientApps are Flower's; only the transport between
them is a thread of ours, which copies each message as the network would.
"""

import copy
import secrets
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.common.constant import NOOP_ACCOUNT_NAME, NOOP_FLWR_AID, SUPERLINK_NODE_ID
from flwr.server.superlink.linkstate import LinkStateFactory
from flwr.supercore.constant import FLWR_IN_MEMORY_DB_NAME, NOOP_FEDERATION_ID, TaskType
from flwr.supercore.object_store import ObjectStoreFactory
from flwr.supercore.task_identity import TaskIdentity
from flwr.superlink.federation import NoOpFederationManager
from flwr.superlink.grid import InMemoryGrid

from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile

CLASSES = ("ash", "beech", "cedar", "elm")
Reply = Callable[[Message, Context], Message | None]


def scored(seed: int, n: int = 60, kit: bytes = b"kit-one!", classes=CLASSES) -> ScoresFile:
    rng = np.random.default_rng(seed)
    centres = np.linalg.qr(np.random.default_rng(0).standard_normal((16, 16)))[0][: len(classes)]
    labels = rng.integers(0, len(classes), n)
    images = centres[labels] + 0.3 * rng.standard_normal((n, 16))
    images /= np.linalg.norm(images, axis=1, keepdims=True)
    ids = [f"{seed}-{row}" for row in range(n)]
    return ScoresFile.of(score(images, centres, labels), labels, classes, kit, ids=ids)


@dataclass
class Federation:
    """A grid, and a thread that lets each node's app answer what is sent to it."""

    apps: Mapping[str, Reply]
    names: bool = False
    grid: InMemoryGrid = field(init=False)
    contexts: dict[str, Context] = field(init=False, default_factory=dict)
    nodes: dict[int, str] = field(init=False, default_factory=dict)
    stopped: threading.Event = field(init=False, default_factory=threading.Event)

    def __post_init__(self) -> None:
        factory = LinkStateFactory(
            FLWR_IN_MEMORY_DB_NAME, NoOpFederationManager(), ObjectStoreFactory()
        )
        self.state = factory.state()
        self.run_id = self.state.create_run(
            None, None, None, {}, NOOP_FEDERATION_ID, None, None, TaskType.SERVER_APP
        )
        TaskIdentity.task_id, TaskIdentity.run_id = 1, self.run_id
        TaskIdentity.node_id = SUPERLINK_NODE_ID
        for name in self.apps:
            self.connect(name)
        self.grid = InMemoryGrid(factory, pull_interval=0.01)
        self.grid.set_run(self.state.get_run_info(run_ids=[self.run_id])[0])
        self.thread = threading.Thread(target=self._deliver)
        self.thread.start()

    def connect(self, name: str) -> None:
        registered = name if self.names else None
        node = self.state.create_node(
            NOOP_FLWR_AID, NOOP_ACCOUNT_NAME, secrets.token_bytes(32), 600.0, name=registered
        )
        self.state.activate_node(node, 600.0)
        config = {"site": name.split("#")[0]}
        self.contexts[name] = Context(self.run_id, node, config, RecordDict(), {})
        self.nodes[node] = name

    def _deliver(self) -> None:
        while not self.stopped.wait(0.005):
            for node, name in list(self.nodes.items()):
                for message in self.state.get_message_ins(node, limit=1):
                    self._answer(copy.deepcopy(message), name)

    def _answer(self, message: Message, name: str) -> None:
        try:
            reply = self.apps[name](message, self.contexts[name])
        except Exception as error:
            reply = Message(Error(2, f"{type(error)}:<'{error}'>"), reply_to=message)
        if reply is not None:
            self.store(reply)

    def store(self, reply: Message) -> None:
        """Hand a reply to the server, at any time."""
        reply.metadata.__dict__["_message_id"] = secrets.token_hex(8)
        self.state.store_message_res(reply)


@pytest.fixture
def federation() -> Iterator[Callable[..., Federation]]:
    """Start federations; stop them all at the end."""
    started: list[Federation] = []

    def start(apps: Mapping[str, Reply | ClientApp], **settings: bool) -> Federation:
        started.append(Federation(apps, **settings))
        return started[-1]

    yield start
    for one in started:
        one.stopped.set()
        one.thread.join()


@pytest.fixture(name="scored")
def scored_fixture() -> Callable[..., ScoresFile]:
    """Give a site's scores of a seed."""
    return scored
