"""A client: it answers the server's question, and trains on its part of the coreset."""

from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from scopefl.federation.flower import ScopeClient

from . import task

scope = ScopeClient(task.scores)
app = ClientApp(mods=[scope.mod])
app.query("scope")(scope.answer)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Train the global model on what this client keeps."""
    data, kept = task.local_data(context), scope.coreset(context)
    model = task.Model(*message.content.array_records["arrays"].to_numpy_ndarrays())
    trained = task.train(model, data.images[kept.rows], kept.labels, context.run_config)
    metrics = MetricRecord({"num-examples": len(kept.rows), "images": len(data.images)})
    content = RecordDict({"arrays": ArrayRecord(list(trained)), "metrics": metrics})
    return Message(content, reply_to=message)
