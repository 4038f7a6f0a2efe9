"""The images of a simulation: a long tail, unevenly spread over the clients, some labels wrong.

They are a data set's by name, scored with an encoder kit, or embeddings drawn at random.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import fingerprint
from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile
from scopefl.experiment.collection import Collection, Part, load_collection
from scopefl.experiment.scene import Scene, build_scene
from scopefl.experiment.settings import Data, Division
from scopefl.train.cost import Cost
from scopefl.train.learner import Examples

Config = Mapping[str, Any]
SYNTHETIC = "synthetic"
SPREAD = 0.15


def scores(config: Config, client: int) -> ScoresFile:
    """Give a client's scores."""
    scene = _scene(config)
    rows, whole = scene.rows[client], scene.collection
    found = score(scene.train.embeddings[rows], whole.prototypes, scene.labels[rows])
    ids = [f"{client}-{row}" for row in range(len(rows))]
    return ScoresFile.of(found, scene.labels[rows], whole.classes, whole.fingerprint, ids=ids)


def examples(config: Config, client: int) -> Examples:
    """Give a client's images, a row a scored image."""
    scene = _scene(config)
    rows = scene.rows[client]
    return Examples(_inputs(config, scene.train[rows]), scene.labels[rows])


def test_data(config: Config) -> Examples:
    """Give the images that no client has, their labels right."""
    test = _scene(config).test
    return Examples(_inputs(config, test), test.labels)


def sizes(config: Config) -> tuple[int, int, int]:
    """Give the number of classes, the dimension of an embedding, and the side of an image."""
    whole = _scene(config).collection
    return whole.n_classes, whole.prototypes.shape[1], whole.train.images.shape[1]


def _inputs(config: Config, part: Part) -> NDArray[Any]:
    return part.embeddings if config["model"] == "probe" else part.images


def _scene(config: Config) -> Scene:
    return _drawn(tuple(sorted(config.items())))


@lru_cache(maxsize=1)
def _drawn(items: tuple[tuple[str, Any], ...]) -> Scene:
    config = dict(items)
    division = Division(
        clients=int(config["clients"]),
        alpha=float(config["alpha"]),
        imbalance_ratio=float(config["imbalance-ratio"]),
        noise=float(config["label-noise"]),
    )
    return build_scene(_collection(config), division, int(config["seed"]))


def _collection(config: Config) -> Collection:
    each, held = int(config["samples"]), int(config["test-samples"])
    if config["dataset"] != SYNTHETIC:
        name, folder, encoder = (str(config[k]) for k in ("dataset", "data-folder", "encoder"))
        return load_collection(Data(name, folder, each, held, encoder=encoder))
    rng = np.random.default_rng(int(config["seed"]))
    names = tuple(f"class-{c}" for c in range(int(config["classes"])))
    centres = _unit(rng.standard_normal((len(names), int(config["dimension"]))))
    train, test = (_around(centres, count, rng) for count in (each, held))
    return Collection(names, train, test, centres, fingerprint(names, {}), SYNTHETIC, Cost())


def _around(centres: NDArray[np.float32], each: int, rng: np.random.Generator) -> Part:
    """Draw unit vectors around their class's centre; there are no images behind them."""
    labels = np.arange(len(centres)).repeat(each)
    noise = SPREAD * rng.standard_normal((len(labels), centres.shape[1]))
    return Part(np.zeros((len(labels), 0), np.uint8), labels, _unit(centres[labels] + noise))


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    scaled: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype("f4")
    return scaled
