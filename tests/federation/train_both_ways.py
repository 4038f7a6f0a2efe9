"""Train on Flower and in one process; print what came of each as one line of JSON."""

import hashlib
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from scopefl.errors import ScopeError
from scopefl.federation.flower_training import simulate
from scopefl.train.federated import run
from scopefl.train.learner import Examples
from scopefl.train.plan import Plan
from scopefl.train.probe import Probe

SIZES = (9, 1, 14, 0)


def examples(case, client):
    rng = np.random.default_rng(client)
    n = (*SIZES, 12)[client]
    y = rng.integers(0, 3, n)
    if case == "cnn":
        return Examples(rng.integers(0, 256, (n, 8, 8, 3), np.uint8), y)
    x = rng.standard_normal((n, 5), np.float32)
    return Examples(np.full_like(x, np.nan) if case == "nan" and client == 2 else x, y)


def learner_of(case):
    if case == "cnn":
        from scopefl.train.torch_learner import TorchLearner

        return TorchLearner("cnn", 3, image_size=8)
    return Probe(5, 3)


def told(history):
    digest = hashlib.sha256(b"".join(array.tobytes() for array in history.weights))
    return {
        "weights": digest.hexdigest(),
        "predictions": history.predictions.tolist(),
        "correct": [each.correct for each in history.rounds],
        "clients": [each.clients for each in history.rounds],
        "samples": history.samples,
    }


class KilledError(Exception):
    pass


def killed_after_two_rounds(learner, clients, test, plan, path):
    def kill(record, weights):
        if record.number == 2:
            raise KilledError

    try:
        run(learner, clients, test, plan, on_round=kill, checkpoint=path, save_every=1)
    except KilledError:
        return path


def main(case):
    learner, test = learner_of(case), examples(case, len(SIZES))
    clients = [examples(case, c) for c in range(len(SIZES))]
    plan = Plan(3, local_epochs=2, batch_size=4, lr=0.1, fraction=0.7, seed=7)
    if case == "nan":
        plan = Plan(3)
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = None
        if case == "resumed":
            path = Path(folder) / "run.npz"
            checkpoint = killed_after_two_rounds(learner, clients, test, plan, path)
        told_by_flower = on_flower(case, learner, test, plan, checkpoint)
    here = None if case == "nan" else told(run(learner, clients, test, plan))
    print(json.dumps({"flower": told_by_flower, "here": here}), flush=True)


def on_flower(case, learner, test, plan, checkpoint):
    try:
        return told(
            simulate(
                learner,
                len(SIZES),
                lambda c: examples(case, c),
                test,
                plan,
                checkpoint=checkpoint,
            )
        )
    except ScopeError as error:
        return str(error)


if __name__ == "__main__":
    main(sys.argv[1])
