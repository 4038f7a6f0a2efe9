"""A client that answers both: the question for its profile, and one that asks for nothing."""

from functools import lru_cache
from pathlib import Path

from flwr.app import ConfigRecord, Context, Message, RecordDict
from flwr.clientapp import ClientApp

from scopefl.data.scores_file import ScoresFile, read_scores
from scopefl.federation.flower import ScopeClient
from scopefl.federation.flower.client import site_of


def scores(context: Context) -> ScoresFile:
    """Give this client's scores, from memory or from disk."""
    path = Path(str(context.run_config["scores"]), f"{site_of(context)}.parquet")
    return remembered(path) if context.run_config["memory"] else read_scores(path)


remembered = lru_cache(maxsize=None)(read_scores)
scope = ScopeClient(scores)
app = ClientApp(mods=[scope.mod])
app.query("scope")(scope.answer)


@app.query("empty")
def empty(message: Message, context: Context) -> Message:
    """Answer with an empty record."""
    del context
    return Message(RecordDict({"empty": ConfigRecord()}), reply_to=message)
