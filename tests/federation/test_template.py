"""The ready app's own functions: every setting does something, for simulated and for real sites."""

from types import SimpleNamespace

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("flwr")

from scopefl.core.scores import score
from scopefl.data.scores_file import ScoresFile, write_scores
from scopefl.errors import ScopeError
from scopefl.federation.flower import Coreset
from scopefl.federation.launch import run_settings
from scopefl.federation.new_app import new_app
from scopefl.federation.template.scope_app import simulated, task
from scopefl.train.federated import train_client


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    folder = tmp_path_factory.mktemp("new") / "app"
    new_app(folder)
    return run_settings(folder) | {"samples": 40, "test-samples": 10, "clients": 4, "alpha": 1.0}


def simulated_client(config, client=0):
    return SimpleNamespace(run_config=config, node_config={"partition-id": client})


def everything(file):
    rows = np.arange(len(file.labels))
    return Coreset(rows, file.ids, file.labels, len(rows))


def all_labels(config):
    files = [task.scores(simulated_client(config, c)) for c in range(config["clients"])]
    return np.concatenate([file.labels for file in files])


def test_simulated_clients_train_what_they_scored(config):
    for client in range(4):
        context = simulated_client(config, client)
        file = task.scores(context)
        examples = task.examples(context, everything(file))
        assert (examples.y == file.labels).all()
        found = score(examples.x, simulated._scene(config).collection.prototypes, examples.y)
        assert np.array_equal(found.rs, file.scores.rs)
    assert len(task.test_data(config)) == 100


def test_the_settings_of_the_division_change_what_clients_hold(config):
    assert len(all_labels(config | {"imbalance-ratio": 1.0})) == 400
    tail = np.bincount(all_labels(config | {"label-noise": 0.0}), minlength=10)
    assert tail.max() == 40
    assert tail.min() == 4
    assert not np.array_equal(all_labels(config), all_labels(config | {"label-noise": 0.5}))
    assert not np.array_equal(all_labels(config), all_labels(config | {"seed": 1}))


@pytest.mark.parametrize(
    "change",
    [
        {"learning-rate": 0.1},
        {"momentum": 0.0},
        {"weight-decay": 0.1},
        {"batch-size": 3},
        {"local-epochs": 2},
        {"lr-schedule": "constant"},
        {"seed": 1},
    ],
    ids=lambda change: next(iter(change)),
)
def test_the_settings_of_training_change_what_is_learned(config, change):
    config = config | {"batch-size": 8}
    context = simulated_client(config)
    examples = task.examples(context, everything(task.scores(context)))
    learner = task.learner(config)

    def trained(config):
        plan = task.plan(config)
        start = learner.start(plan.rng(0))
        return train_client(learner, start, examples, plan, 2, 0)[0]

    assert np.array_equal(trained(config), trained(config))
    assert not np.array_equal(trained(config), trained(config | change))


def test_the_model_and_the_data_set_are_settings(config, tmp_path):
    pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    for name in ("grain", "pore"):
        tmp_path.joinpath(name).mkdir()
        for number in range(4):
            pixels = rng.integers(0, 255, (40, 40, 3), np.uint8)
            Image.fromarray(pixels).save(tmp_path / name / f"{number}.png")
    changed = config | {"dataset": "folder", "data-folder": str(tmp_path), "clients": 2}
    changed |= {"model": "cnn", "imbalance-ratio": 1.0, "samples": 4}
    context = simulated_client(changed)
    file = task.scores(context)
    assert file.classes == ("grain", "pore")
    examples = task.examples(context, everything(file))
    assert examples.x.dtype == np.uint8
    learner = task.learner(changed)
    assert learner.n_classes == 2
    assert len(learner.start(task.plan(changed).rng(0))) > 2
    with pytest.raises(ScopeError, match="synthetic data has none"):
        task.learner(config | {"model": "cnn"})


def real_site(tmp_path, config, **more):
    labels = np.array([0, 1, 1])
    names = [f"{row}.png" for row in range(3)]
    for row, name in enumerate(names):
        Image.fromarray(np.full((20, 30, 3), 50 * row, np.uint8)).save(tmp_path / name)
    embeddings = np.eye(3, dtype=np.float32)
    np.save(tmp_path / "embeddings.npy", embeddings)
    file = ScoresFile.of(
        score(embeddings, np.eye(3)[:2], labels), labels, ("a", "b"), b"k", ids=names
    )
    write_scores(file, tmp_path / "scores.parquet")
    node = {"scores": str(tmp_path / "scores.parquet"), "images": str(tmp_path)}
    node["embeddings"] = str(tmp_path / "embeddings.npy")
    settings = config | {"dataset": "", "classes": 2, "dimension": 3, "image-size": 16} | more
    return SimpleNamespace(run_config=settings, node_config=node)


def test_a_real_site_trains_on_the_images_it_keeps(config, tmp_path):
    pytest.importorskip("torch")
    context = real_site(tmp_path, config, model="cnn")
    file = task.scores(context)
    kept = Coreset(np.array([0, 2]), file.ids[[0, 2]], file.labels[[0, 2]], 3)
    examples = task.examples(context, kept)
    assert examples.x.shape == (2, 16, 16, 3)
    assert [image.max() for image in examples.x] == [0, 100]
    assert list(examples.y) == [0, 1]


def test_a_real_site_trains_on_the_embeddings_it_keeps(config, tmp_path):
    context = real_site(tmp_path, config)
    file = task.scores(context)
    kept = Coreset(np.array([0, 2]), file.ids[[0, 2]], file.labels[[0, 2]], 3)
    examples = task.examples(context, kept)
    assert np.array_equal(examples.x, np.eye(3)[[0, 2]])
    assert task.learner(context.run_config).n_classes == 2


def test_real_sites_are_tested_on_a_file_or_not_at_all(config, tmp_path):
    path = tmp_path / "test.npz"
    np.savez(path, x=np.eye(3), y=np.array([0, 1, 1]))
    assert task.test_data(config | {"dataset": "", "test": ""}) is None
    assert len(task.test_data(config | {"dataset": "", "test": str(path)})) == 3
