"""Sites that train next to nothing, and a run of theirs, for the tests of strategies."""

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from scopefl.core.policy import agree
from scopefl.federation.by_file import choose
from scopefl.federation.flower import ScopeClient

SITES = ("north", "south", "west")


def app_of(file, seen, mods=(), spoil=lambda content: None, site_forgets=False):
    """An app that reports how much it trains on, and notes which ids those are."""
    scope = ScopeClient(file)
    app = ClientApp(mods=[scope.mod])
    app.query("scope")(scope.answer)

    @app.train(mods=list(mods))
    def train(message, context):
        assert set(message.content) == {"arrays", "config"}
        kept = scope.coreset(context)
        seen.setdefault(context.node_config["site"], []).append(list(kept.ids))
        arrays = ArrayRecord([array + len(kept.rows) for array in sent(message)])
        metrics = MetricRecord({"num-examples": len(kept.rows), "loss": 1.0})
        content = RecordDict({"arrays": arrays, "metrics": metrics})
        spoil(content)
        if site_forgets:
            context.state.clear()
        return Message(content, reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        content = RecordDict({"metrics": MetricRecord({"num-examples": 10, "accuracy": 0.5})})
        spoil(content)
        return Message(content, reply_to=message)

    return app


def sent(message):
    return message.content["arrays"].to_numpy_ndarrays()


def expected_ids(files, rule, gamma=1.0):
    agreement = agree(
        [file.profile.to_bytes(file.fingerprint) for file in files.values()], gamma=gamma
    )
    return {
        name: list(file.ids[choose(file, agreement, rule, name).kept])
        for name, file in files.items()
    }


def run(federation, apps, strategy, rounds=1, timeout=20.0):
    grid = federation(apps, names=True).grid
    return strategy.start(grid, ArrayRecord([np.zeros(2)]), rounds, timeout)
