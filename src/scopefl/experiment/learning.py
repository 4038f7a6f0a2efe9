"""From settings to learners, plans and examples, and the warm-up some methods need."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import Floats
from scopefl.errors import ScopeError
from scopefl.experiment.collection import Collection
from scopefl.experiment.scene import Scene
from scopefl.experiment.settings import Training, check_name
from scopefl.methods import Trained, WarmUp
from scopefl.methods.trained import count_forgotten
from scopefl.train.cost import Cost, metered, training_cost
from scopefl.train.federated import run
from scopefl.train.history import History, Round
from scopefl.train.learner import Examples, Learner, Weights
from scopefl.train.plan import Plan
from scopefl.train.probe import Probe
from scopefl.train.projection import Projection, principal

PROBE = "probe"
HERE, ON_FLOWER = RUNNERS = ("here", "flower")


def axes(collection: Collection, training: Training) -> Projection | None:
    """Give the axes a probe sees a collection's embeddings on; None if it sees them as they are."""
    if training.model != PROBE or not training.features:
        return None
    return principal(collection.train.embeddings, training.features)


class Subject:
    """What is trained in a scene: the learner, all training examples, and the test examples."""

    def __init__(self, scene: Scene, training: Training, project: Projection | None) -> None:
        self.scene, self.training = scene, training
        if training.model == PROBE:
            self._on_embeddings(project)
        else:
            self._on_images()

    def _on_embeddings(self, project: Projection | None) -> None:
        train, test = self.scene.train.embeddings, self.scene.test.embeddings
        if project:
            train, test = project(train), project(test)
        self.learner: Learner = Probe(train.shape[1], self.scene.collection.n_classes)
        self._hold(train, test)

    def _on_images(self) -> None:
        try:
            from scopefl.train.torch_learner import TorchLearner, usable_device
        except ImportError as missing:
            raise ScopeError(
                f"the model {self.training.model} needs torch ({missing}); "
                "pip install scopefl[torch], or use the model probe"
            ) from missing
        images, t = self.scene.train.images, self.training
        self.learner = TorchLearner(
            t.model,
            self.scene.collection.n_classes,
            t.image_size or images.shape[1],
            pretrained=pretrained_weights(t),
            threads=t.threads,
            device=usable_device(t.device),
        )
        self._hold(images, self.scene.test.images)

    def _hold(self, train: NDArray[np.generic], test: NDArray[np.generic]) -> None:
        self.train = Examples(train, self.scene.labels)
        self.test = Examples(test, self.scene.test.labels)

    def examples(
        self, kept: Sequence[NDArray[np.bool_]], weights: Sequence[Floats] | None = None
    ) -> list[Examples]:
        """Give each client's examples that were kept, and what each counts if that differs."""
        rows = zip(self.scene.rows, kept, strict=True)
        found = [self.train[mine[stays]] for mine, stays in rows]
        if weights is None:
            return found
        return [replace(each, weight=w) for each, w in zip(found, weights, strict=True)]

    def plan(self, seed: int) -> Plan:
        """Give the plan of a whole training."""
        t = self.training
        return Plan(
            rounds=t.rounds,
            local_epochs=t.local_epochs,
            batch_size=t.batch_size,
            lr=t.lr,
            momentum=t.momentum,
            weight_decay=t.weight_decay,
            fraction=t.fraction,
            seed=seed,
        )

    def train_on(
        self, examples: list[Examples], seed: int, checkpoint: Path | None = None
    ) -> History:
        """Train on each client's examples, by the runner the settings name."""
        t = self.training
        check_name(list(RUNNERS), t.runner, "[training] runner")
        if t.runner == HERE:
            return run(
                self.learner,
                examples,
                self.test,
                self.plan(seed),
                checkpoint=checkpoint,
                evaluate_every=t.evaluate_every,
            )
        try:
            from scopefl.federation.flower_training import simulate
        except ImportError as missing:
            raise ScopeError(
                f"[training] runner {t.runner} needs Flower ({missing}); "
                "pip install scopefl[flower]"
            ) from missing
        return simulate(
            self.learner,
            len(examples),
            examples.__getitem__,
            self.test,
            self.plan(seed),
            evaluate_every=t.evaluate_every,
            checkpoint=checkpoint,
        )

    def warm_up(self, warm_up: WarmUp, repeat: int) -> tuple[list[Trained], Cost]:
        """Train on everything first; give what the model then says of each client's samples."""
        t = self.training
        plan = Plan(
            rounds=warm_up.rounds,
            local_epochs=warm_up.epochs,
            batch_size=t.batch_size,
            lr=t.lr,
            momentum=t.momentum,
            weight_decay=t.weight_decay,
            seed=self.scene.seed * 1000 + repeat + 1,
        )
        right: list[NDArray[np.bool_]] = []

        def look(_: Round, weights: Weights) -> None:
            if warm_up.watched:
                right.append(self.learner.predict(weights, self.train.x) == self.train.y)

        everything = [self.train[rows] for rows in self.scene.rows]
        with metered() as meter:
            # Nobody looks at its accuracy, so that is not charged to the methods that warm up.
            history = run(self.learner, everything, self.test[:1], plan, on_round=look)
            said = self.learner.logits_and_features(history.weights, self.train.x)
        looks = (1 + len(right)) * len(self.train)
        cost = training_cost(self.learner, history) + meter.cost(
            looks * self.learner.forward_flops()
        )
        cost = replace(cost, seconds=meter.seconds)
        forgotten = count_forgotten(np.array(right, bool).reshape(-1, len(self.train)))
        trained = Trained(said.features, said.logits, forgotten)
        return [trained[rows] for rows in self.scene.rows], cost


def pretrained_weights(training: Training) -> Path | None:
    """Give the file the training starts from, if any: the one named, or its model's in a folder."""
    if not training.pretrained:
        return None
    path = Path(training.pretrained).expanduser()
    return path / f"{training.model}.safetensors" if path.is_dir() else path
