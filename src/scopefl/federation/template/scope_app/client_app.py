"""A client: it answers the server's question, and trains on its part of the coreset."""

from zlib import crc32

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from scopefl.federation.flower import ScopeClient
from scopefl.federation.flower.client import site_of
from scopefl.train.federated import train_client

from . import task

scope = ScopeClient(task.scores)
app = ClientApp(mods=[scope.mod])
app.query("scope")(scope.answer)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train the global model on what this client keeps."""
    kept, config = scope.coreset(context), context.run_config
    weights = message.content.array_records["arrays"].to_numpy_ndarrays()
    number = int(str(message.content.config_records["config"]["server-round"]))
    if len(kept.rows):
        learner, plan, data = task.learner(config), task.plan(config), task.examples(context, kept)
        client = crc32(site_of(context).encode())
        weights = train_client(learner, weights, data, plan, number, client)
    metrics = MetricRecord({"num-examples": len(kept.rows), "images": kept.scored})
    content = RecordDict({"arrays": ArrayRecord(weights), "metrics": metrics})
    return Message(content, reply_to=message)
