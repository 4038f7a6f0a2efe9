"""What is yours: the model, one client's training, and where the data comes from.

Here a linear classifier is trained on image embeddings. A simulation draws them at random: a long
tail of classes, spread unevenly over the clients, with some labels wrong. A real site names its
own files in its node configuration: `scores` (of `scope score`) and `embeddings` (.npy, a row a
scored image, in the order of the scores).
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from flwr.app import Context
from numpy.typing import NDArray

from scopefl.core.fingerprint import fingerprint
from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile, read_scores

SPREAD = 0.25
Config = Mapping[str, Any]


class Model(NamedTuple):
    """A linear classifier: weight (D, C) and bias (C,)."""

    weight: NDArray[Any]
    bias: NDArray[Any]


class Data(NamedTuple):
    """Embeddings (N, D) and class numbers (N,)."""

    images: NDArray[Any]
    labels: NDArray[Any]


def first_model(config: Config) -> Model:
    """Give the model that training starts from."""
    classes = int(config["classes"])
    return Model(np.zeros((int(config["dimension"]), classes)), np.zeros(classes))


def train(model: Model, images: NDArray[Any], labels: NDArray[Any], config: Config) -> Model:
    """Give the model after some epochs of stochastic gradient descent on these images."""
    weight, bias = model.weight.copy(), model.bias.copy()
    rng = np.random.default_rng(int(config["seed"]))
    for _ in range(int(config["local-epochs"])):
        order = rng.permutation(len(images))
        for start in range(0, len(order), int(config["batch-size"])):
            rows = order[start : start + int(config["batch-size"])]
            error = softmax(images[rows] @ weight + bias)
            error[np.arange(len(rows)), labels[rows]] -= 1
            step = float(config["learning-rate"]) / len(rows)
            weight -= step * images[rows].T @ error
            bias -= step * error.sum(axis=0)
    return Model(weight, bias)


def softmax(logits: NDArray[Any]) -> NDArray[Any]:
    """Give the probability of each class, (N, C)."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def accuracy(model: Model, data: Data) -> float:
    """Give the share of images whose most probable class is their label."""
    right = (data.images @ model.weight + model.bias).argmax(axis=1) == data.labels
    return float(right.mean())


def scores(context: Context) -> ScoresFile:
    """Give this client's scores."""
    if "scores" in context.node_config:
        return read_scores(Path(str(context.node_config["scores"])))
    data, config = local_data(context), context.run_config
    names = [f"class-{c}" for c in range(int(config["classes"]))]
    found = score(data.images, prototypes(config), data.labels)
    site = context.node_config["partition-id"]
    ids = [f"{site}-{row}" for row in range(len(data.labels))]
    return ScoresFile.of(found, data.labels, names, fingerprint(names, {}), ids=ids)


def local_data(context: Context) -> Data:
    """Give this client's images, a row a scored image."""
    if "scores" in context.node_config:
        path = str(context.node_config["embeddings"])
        return Data(np.load(path, allow_pickle=False), scores(context).labels)
    part = int(context.node_config["partition-id"])
    return partitions(tuple(sorted(context.run_config.items())))[part]


def prototypes(config: Config) -> NDArray[np.float32]:
    """Give one unit vector a class, (C, D)."""
    rng = np.random.default_rng(int(config["seed"]))
    return unit(rng.standard_normal((int(config["classes"]), int(config["dimension"]))))


def test_data(config: Config) -> Data | None:
    """Give what the server tests on: a file's images, 100 synthetic ones a class, or nothing."""
    if not config["test"]:
        return None
    if config["test"] != "synthetic":
        with np.load(str(config["test"]), allow_pickle=False) as file:
            return Data(file["images"], file["labels"])
    rng = np.random.default_rng(int(config["seed"]) + 1)
    return around(prototypes(config), np.arange(int(config["classes"])).repeat(100), rng)


@lru_cache(maxsize=1)
def partitions(items: tuple[tuple[str, Any], ...]) -> list[Data]:
    """Draw a long-tailed collection and spread each class over the clients by Dirichlet(alpha)."""
    config = dict(items)
    rng = np.random.default_rng(int(config["seed"]) + 2)
    classes, clients = int(config["classes"]), int(config["clients"])
    share = float(config["imbalance-ratio"]) ** -np.linspace(0, 1, classes)
    truth = rng.choice(classes, int(config["images"]), p=share / share.sum())
    data = around(prototypes(config), truth, rng)
    wrong = rng.random(len(truth)) < float(config["label-noise"])
    labels = np.where(wrong, (truth + rng.integers(1, classes, len(truth))) % classes, truth)
    mix = rng.dirichlet(np.full(clients, float(config["alpha"])), classes).cumsum(axis=1)
    owner = (rng.random(len(truth))[:, None] > mix[truth]).sum(axis=1).clip(max=clients - 1)
    return [Data(data.images[owner == k], labels[owner == k]) for k in range(clients)]


def around(centres: NDArray[Any], labels: NDArray[Any], rng: np.random.Generator) -> Data:
    """Draw unit vectors around their class's centre."""
    noise = SPREAD * rng.standard_normal((len(labels), centres.shape[1]))
    return Data(unit(centres[labels] + noise), labels)


def unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Scale each row to length 1."""
    scaled: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")
    return scaled
