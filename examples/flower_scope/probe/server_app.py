"""The server averages the clients' classifiers and tests them."""

from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, MetricRecord
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from scopefl.federation.flower import Scope

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Train for some rounds."""
    config = context.run_config
    with np.load(Path(str(config["data"])) / "test.npz") as file:
        images, labels = file["images"], file["labels"]

    def evaluate(_: int, arrays: ArrayRecord) -> MetricRecord:
        (weight,) = arrays.to_numpy_ndarrays()
        right = (images @ weight).argmax(axis=1) == labels
        return MetricRecord({"accuracy": float(right.mean())})

    first = ArrayRecord([np.zeros((images.shape[1], int(labels.max()) + 1))])
    strategy = Scope(FedAvg(fraction_evaluate=0.0), expect=int(config["clients"]))
    strategy.start(grid, first, num_rounds=int(config["rounds"]), evaluate_fn=evaluate)
