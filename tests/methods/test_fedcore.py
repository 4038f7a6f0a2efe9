import numpy as np
import pytest

from scopefl.methods import METHODS, Budget
from scopefl.methods.fedcore import gradient_distances
from scopefl.methods.trained import errors

pytest.importorskip("kmedoids")


def test_distances_are_those_of_the_gradients_themselves():
    rng = np.random.default_rng(0)
    error, features = rng.normal(size=(7, 3)), rng.normal(size=(7, 4))
    gradients = np.stack(
        [np.concatenate([e, np.outer(e, f).ravel()]) for e, f in zip(error, features, strict=True)]
    )
    direct = np.linalg.norm(gradients[:, None] - gradients[None], axis=2)
    assert gradient_distances(error, features) == pytest.approx(direct, abs=1e-5)


def test_the_medoids_of_two_clusters_are_their_middles(trained_client):
    # All errors are alike, so gradients differ as features do: clusters 0 1 2 and 50 51 52.
    one = trained_client([0] * 6, [0, 1, 2, 50, 51, 52])
    kept = METHODS["fedcore"].select(one, b"", Budget(count=2)).kept
    assert np.flatnonzero(kept).tolist() == [1, 4]


def test_errors_are_gradients_by_the_logits(trained_client):
    one = trained_client([1], [[0]], [[0, 0]])
    assert errors(one, one.trained).tolist() == [[0.5, -0.5]]


def test_a_medoid_counts_for_the_samples_nearest_to_it(trained_client):
    one = trained_client([0] * 7 + [1] * 2, [0, 1, 2, 50, 51, 52, 53, 7, 9])
    method = METHODS["fedcore"]
    chosen = method.select(one, b"", Budget(count=3))
    assert np.flatnonzero(chosen.kept).tolist()[0] == 1
    assert method.weigh(one, chosen).tolist() == [3, 4, 2]
