"""A client trains a linear classifier on its own image embeddings."""

from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp

from scopefl.federation.flower import ScopeClient

scope = ScopeClient(lambda c: f"{c.run_config['data']}/{c.node_config['partition-id']}.parquet")
app = ClientApp(mods=[scope.mod])
app.query("scope")(scope.answer)


@app.train()
def train(message: Message, context: Context) -> Message:
    """Take some steps of gradient descent."""
    folder = Path(str(context.run_config["data"]))
    with np.load(folder / f"{context.node_config['partition-id']}.npz") as file:
        kept = scope.coreset(context)
        images, labels = file["images"][kept.rows], file["labels"][kept.rows]
    (weight,) = message.content.array_records["arrays"].to_numpy_ndarrays()
    for _ in range(20):
        odds = np.exp(images @ weight)
        error = odds / odds.sum(axis=1, keepdims=True) - np.eye(weight.shape[1])[labels]
        weight -= 5.0 * images.T @ error / max(len(images), 1)
    content = RecordDict({"arrays": ArrayRecord([weight])})
    content["metrics"] = MetricRecord({"num-examples": len(images)})
    return Message(content, reply_to=message)
