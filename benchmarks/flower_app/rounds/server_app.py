"""The server: empty rounds and profile rounds in turn, and when each began and ended."""

import json
import time
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.serverapp import Grid, ServerApp

from scopefl.federation.flower.profile_round import profile_round

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Time each round by the wall clock, which the byte counter shares; the first two warm up."""
    clients = int(context.run_config["clients"])
    while len(list(grid.get_node_ids())) < clients:
        time.sleep(0.1)
    found: list[tuple[str, float, float]] = []
    for _ in range(int(context.run_config["repeats"]) + 1):
        for name, run in (("empty", empty_round), ("profile", scope_round)):
            started = time.time()
            run(grid, clients)
            found.append((name, started, time.time()))
    Path(str(context.run_config["out"])).write_text(json.dumps(found[2:]))


def empty_round(grid: Grid, clients: int) -> None:
    """Ask every client for nothing."""
    record = RecordDict({"empty": ConfigRecord()})
    nodes = list(grid.get_node_ids())
    messages = [Message(record, dst_node_id=node, message_type="query.empty") for node in nodes]
    replies = list(grid.send_and_receive(messages, timeout=600))
    assert len(replies) == clients


def scope_round(grid: Grid, clients: int) -> None:
    """Ask every client for its profile, and merge."""
    profile_round(grid, clients)
