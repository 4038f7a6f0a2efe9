"""Single samples of a run as points: by their scores, and on a map of one client."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.order import Rows
from scopefl.core.scores import Scores
from scopefl.experiment.perform import Chosen, Workshop, choose
from scopefl.experiment.results import Stored
from scopefl.experiment.scene import Scene
from scopefl.experiment.spec import Run
from scopefl.methods import METHODS
from scopefl.methods.class_means import class_means
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.map import layout

MOST = 3000
CENTRE = "class centre"
FATES = ("kept", "anomalous", "redundant")

Points = list[dict[str, Any]]


def first_runs(stored: Stored) -> dict[str, Run]:
    """Give the first run of each method that has a result."""
    found: dict[str, Run] = {}
    for values, run in stored.spec.cells():
        if run.key in stored.results:
            found.setdefault(str(values["pruning.method"]), run)
    return found


def by_scores(stored: Stored, workshop: Workshop) -> Points:
    """Give RS and S_neg of samples of all clients, and what each method made of them."""
    points: Points = []
    for method, run in first_runs(stored).items():
        scores, scene = _scores(run, workshop), workshop.scene(run)
        fates = _fates(choose(run, workshop), scene)
        for row in _some(len(fates)):
            place = {"rs": float(scores.rs[row]), "s_neg": float(scores.s_neg[row])}
            points.append({"method": method, "fate": str(fates[row]), **place})
    return points


def on_a_map(stored: Stored, workshop: Workshop) -> Points:
    """Give the largest client's samples on a map with the centres of all clients' classes."""
    points: Points = []
    for method, run in first_runs(stored).items():
        scene = workshop.scene(run)
        fates = _fates(choose(run, workshop), scene)
        mine = max(scene.rows, key=len)
        mine = mine[_some(len(mine))]
        names = [*fates[mine].tolist(), *[CENTRE] * scene.collection.n_classes]
        for (x, y), fate in zip(_placed(scene, mine).tolist(), names, strict=True):
            points.append({"method": method, "fate": fate, "x": x, "y": y})
    return points


def _placed(scene: Scene, mine: Rows) -> NDArray[np.float32]:
    rows = scene.train.embeddings
    centres = class_means(rows, scene.labels, scene.collection.n_classes)
    return layout(np.concatenate([rows[mine], centres]), cache_folder())


def _scores(run: Run, workshop: Workshop) -> Scores:
    visual = METHODS[run.pruning.method].uses == "visual scores"
    return workshop.scores(run, visual=visual)[0]


def _fates(chosen: Chosen, scene: Scene) -> NDArray[np.str_]:
    fates = np.full(len(scene.labels), FATES[0], dtype="<U9")
    for rows, selection in zip(scene.rows, chosen.selections, strict=True):
        for fate in FATES[1:]:
            fates[rows[getattr(selection, fate)]] = fate
    return fates


def _some(n: int) -> Rows:
    return np.sort(np.random.default_rng(0).permutation(n)[:MOST])
