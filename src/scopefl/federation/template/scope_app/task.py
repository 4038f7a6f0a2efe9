"""What is yours: the model, and where a client's images come from.

A real site names its own files in its node configuration: `scores` (of `scope score`) and, for a
network, `images`, the folder that was scored, or for the probe `embeddings`, a .npy with a row a
scored image. A simulation divides a data set among its clients instead, see simulated.py.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import Context

from scopefl.data.datasets import Dataset
from scopefl.data.scores_file import ScoresFile, read_scores
from scopefl.errors import ScopeError
from scopefl.federation.flower import Coreset
from scopefl.train.learner import Examples, Learner
from scopefl.train.plan import Plan
from scopefl.train.probe import Probe

from . import simulated

Config = Mapping[str, Any]


def learner(config: Config) -> Learner:
    """Give what is trained: a linear probe on embeddings, or a network on images."""
    classes, dimension, side = (
        simulated.sizes(config)
        if config["dataset"]
        else (int(config[key]) for key in ("classes", "dimension", "image-size"))
    )
    if config["model"] == "probe":
        return Probe(dimension, classes)
    if not side:
        raise ScopeError(
            f"{config['model']} trains on images, and synthetic data has none; "
            "choose a dataset such as cifar10, or the model probe"
        )
    from scopefl.train.torch_learner import TorchLearner, usable_device

    device, threads = usable_device(str(config["device"])), int(config["threads"])
    return TorchLearner(str(config["model"]), classes, side, device=device, threads=threads)


def plan(config: Config) -> Plan:
    """Give the steps of training, from the settings of the run."""
    return Plan(
        rounds=int(config["rounds"]),
        local_epochs=int(config["local-epochs"]),
        batch_size=int(config["batch-size"]),
        lr=float(config["learning-rate"]),
        momentum=float(config["momentum"]),
        weight_decay=float(config["weight-decay"]),
        fraction=float(config["fraction"]),
        lr_schedule=config["lr-schedule"],
        seed=int(config["seed"]),
    )


def scores(context: Context) -> ScoresFile:
    """Give this client's scores."""
    if context.run_config["dataset"]:
        return simulated.scores(context.run_config, int(context.node_config["partition-id"]))
    return read_scores(Path(str(context.node_config["scores"])))


def examples(context: Context, kept: Coreset) -> Examples:
    """Give what this client trains on."""
    config, site = context.run_config, context.node_config
    if config["dataset"]:
        return simulated.examples(config, int(site["partition-id"]))[kept.rows]
    if config["model"] == "probe":
        rows = np.load(str(site["embeddings"]), allow_pickle=False, mmap_mode="r")
        return Examples(rows[kept.rows], kept.labels)
    paths = tuple(Path(str(site["images"]), str(name)) for name in kept.ids)
    names, labels = tuple(map(str, range(int(config["classes"])))), kept.labels.astype(np.int64)
    return Examples(Dataset(paths, labels, names).pixels(int(config["image-size"])), labels)


def test_data(config: Config) -> Examples | None:
    """Give what the server tests on: a file's x and y, what the simulation left out, or nothing."""
    if config["dataset"]:
        return simulated.test_data(config)
    if not config["test"]:
        return None
    with np.load(str(config["test"]), allow_pickle=False) as file:
        return Examples(file["x"], file["y"])
