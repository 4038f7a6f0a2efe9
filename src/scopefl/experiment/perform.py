"""One run: choose coresets by one method, train on them, and measure both."""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from scopefl.core.coreset import Selection
from scopefl.core.scores import Floats, Scores
from scopefl.experiment.collection import Collection, OnProgress, load_collection
from scopefl.experiment.learning import PROBE, Subject, axes
from scopefl.experiment.measures import measures
from scopefl.experiment.scene import (
    Scene,
    build_scene,
    class_counts,
    clients_of,
    text_scores,
    visual_scores,
)
from scopefl.experiment.settings import Pruning, Training
from scopefl.experiment.spec import Run
from scopefl.methods import METHODS, Budget, Method, Trained, WarmUp
from scopefl.train.cost import Cost, metered, training_cost
from scopefl.train.history import History

T = TypeVar("T")


@dataclass(frozen=True)
class Chosen:
    """What a method chose, a selection a client, and what choosing cost all of them together.

    `messages` counts the bytes the clients sent about their data, without a warm-up's models;
    `weights` hold what each client's kept samples count, where the method says so.
    """

    selections: tuple[Selection, ...]
    cost: Cost
    messages: int = 0
    weights: tuple[Floats, ...] | None = None


@dataclass
class Workshop:
    """What runs share: collections, scenes, scores, warm-ups, references; the last few kept."""

    on_embedding: OnProgress = lambda _done, _of: None
    most: int = 24
    shelf: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Make something, or find it made."""
        if key not in self.shelf:
            made = make()
            self.shelf[key] = made
            while len(self.shelf) > self.most:
                self.shelf.popitem(last=False)
        self.shelf.move_to_end(key)
        found: T = self.shelf[key]
        return found

    def collection(self, run: Run) -> Collection:
        """Give the run's data set."""
        return self.once(run.data, lambda: load_collection(run.data, self.on_embedding))

    def scene(self, run: Run) -> Scene:
        """Give the run's clients."""
        key = (run.data, run.partition, run.seed)
        collection = self.collection(run)
        return self.once(key, lambda: build_scene(collection, run.partition, run.seed))

    def subject(self, run: Run) -> Subject:
        """Give the run's learner with its examples."""
        key = (run.data, run.partition, run.training, run.seed)
        scene, collection, training = self.scene(run), self.collection(run), run.training
        # The same axes for every division of the collection: finding them takes longer than a run.
        sees = (run.data, training.model, training.features)
        project = self.once(sees, lambda: axes(collection, training))
        return self.once(key, lambda: Subject(scene, training, project))

    def warm_up(self, run: Run, how: WarmUp, repeat: int) -> tuple[list[Trained], Cost]:
        """Give a warm-up on all data of the learner that chooses, and its cost."""
        run = replace(run, training=warming(run))
        key = (run.data, run.partition, run.training, run.seed, how, repeat)
        subject = self.subject(run)
        return self.once(key, lambda: subject.warm_up(how, repeat))

    def scores(self, run: Run, *, visual: bool) -> tuple[Scores, Cost]:
        """Give the scores of all the run's samples, and what scoring cost beyond embedding."""
        scene = self.scene(run)
        key = (run.data, run.partition, run.seed, visual)
        return self.once(key, lambda: visual_scores(scene) if visual else text_scores(scene))


def warming(run: Run) -> Training:
    """Give the training of a warm-up: of the model named for it, else of the run's own."""
    model = run.pruning.warm_up_model
    return replace(run.training, model=model) if model else run.training


def perform(run: Run, workshop: Workshop, checkpoint: Path | None = None) -> dict[str, Any]:
    """Give everything measured in one run, as JSON can hold it.

    With `checkpoint` the training of a run that was killed goes on from there.
    """
    scene, subject = workshop.scene(run), workshop.subject(run)
    chosen = choose(run, workshop)
    kept = [selection.kept for selection in chosen.selections]
    examples = subject.examples(kept, chosen.weights)
    with metered() as meter:
        history = subject.train_on(examples, run.seed, checkpoint)
    training = training_cost(subject.learner, history)
    n_classes = scene.collection.n_classes
    return {
        "metrics": measures(scene, subject, chosen.selections, examples, history),
        "curve": curve(history),
        "classes": {
            fate: class_counts(_labels_of(scene, chosen, fate), n_classes)
            for fate in ("kept", "anomalous", "redundant")
        },
        "clients": [
            {fate: int(getattr(s, fate).sum()) for fate in ("kept", "anomalous", "redundant")}
            for s in chosen.selections
        ],
        "choosing": asdict(chosen.cost) | {"message_up": chosen.messages},
        "training": asdict(training) | {"peak_bytes": meter.peak_bytes},
    }


def curve(history: History) -> list[list[float]]:
    """Give each evaluated round, the samples trained on until then, and the accuracy."""
    samples = np.cumsum([each.samples for each in history.rounds]).tolist()
    return [
        [each.number, samples[each.number - 1], float(accuracy)]
        for each, accuracy in zip(history.evaluated, history.accuracy, strict=True)
    ]


def choose(run: Run, workshop: Workshop) -> Chosen:
    """Let the run's method choose, by its own rule or as many as the reference keeps."""
    pruning = run.pruning
    method = METHODS[pruning.method]
    if pruning.mode == "native" or method.matches == "nothing":
        budgets = [_budget(pruning, run.seed)] * len(workshop.scene(run).rows)
        return _choose(method, budgets, run, workshop)
    reference = METHODS[pruning.reference]
    own = [_budget(pruning, run.seed)] * len(workshop.scene(run).rows)
    key = (run.data, run.partition, run.seed, pruning.reference, own[0])
    chosen = workshop.once(key, lambda: _choose(reference, own, run, workshop))
    counts = [int(selection.kept.sum()) for selection in chosen.selections]
    total = sum(map(len, workshop.scene(run).rows))
    matched = [
        Budget(
            pruning.p_l,
            pruning.p_f,
            pruning.beta,
            keep=f"{sum(counts)}/{total}",
            count=count,
            run=str(run.seed),
        )
        for count in counts
    ]
    return _choose(method, matched, run, workshop)


def _budget(pruning: Pruning, seed: int) -> Budget:
    return Budget(pruning.p_l, pruning.p_f, pruning.beta, run=str(seed))


def _choose(method: Method, budgets: list[Budget], run: Run, workshop: Workshop) -> Chosen:
    scene = workshop.scene(run)
    cost, warm = Cost(), list[list[Trained]]()
    if method.warm_up:
        for repeat in range(run.pruning.warm_up_repeats):
            trained, spent = workshop.warm_up(run, method.warm_up, repeat)
            warm.append(trained)
            cost += spent
    scores, scoring = workshop.scores(run, visual=method.uses == "visual scores")
    warmed_up = cost.up
    if method.uses in ("scores", "visual scores"):
        cost += scoring
    with metered() as meter:
        clients = clients_of(scene, scores, warm)
        messages = [method.summarize(client) for client in clients]
        agreed = method.agree(messages)
        selections = tuple(
            method.select(client, agreed, budget)
            for client, budget in zip(clients, budgets, strict=True)
        )
        weights = None
        if method.weigh:
            weights = tuple(map(method.weigh, clients, selections))
    cost += meter.cost(up=sum(map(len, messages)), down=len(agreed) * len(clients))
    on_embeddings = method.warm_up is not None and warming(run).model == PROBE
    if on_embeddings or method.uses in ("scores", "visual scores", "embeddings"):
        cost += embedding_cost(scene)
    return Chosen(selections, cost, cost.up - warmed_up, weights)


def embedding_cost(scene: Scene) -> Cost:
    """Give what it takes to embed every training image, whether or not it was kept from before."""
    one, n = scene.collection.an_image, len(scene.labels)
    return Cost(n * one.seconds, n * one.flops, one.peak_bytes)


def _labels_of(scene: Scene, chosen: Chosen, fate: str) -> NDArray[np.int64]:
    rows = zip(scene.rows, chosen.selections, strict=True)
    return np.concatenate([scene.labels[mine[getattr(s, fate)]] for mine, s in rows])
