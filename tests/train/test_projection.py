import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.train.projection import SQUARED_NORM, principal, random


def test_the_principal_axis_is_the_one_that_varies_most():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(500, 3)) * [0.1, 5.0, 1.0] + 7
    features = principal(x, 1)(x)
    assert abs(np.corrcoef(features[:, 0], x[:, 1])[0, 1]) > 0.999


@pytest.mark.parametrize(
    "project", [principal, lambda x, d: random(x, d, np.random.default_rng(1))]
)
def test_features_are_centred_scaled_and_repeatable(project):
    x = np.random.default_rng(2).normal(size=(200, 8)) * 0.01 + 3
    features = project(x, 4)(x)
    assert features.shape == (200, 4)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features.mean(axis=0), 0, atol=1e-3)
    assert np.square(features).sum(axis=1).mean() == pytest.approx(SQUARED_NORM, rel=1e-3)
    np.testing.assert_array_equal(features, project(x, 4)(x))


def test_all_axes_keep_all_distances_up_to_the_scale():
    x = np.random.default_rng(3).normal(size=(20, 5)).astype(np.float32)
    features = principal(x, 5)(x)
    ratio = np.linalg.norm(features[0] - features[1:], axis=1) / np.linalg.norm(
        x[0] - x[1:], axis=1
    )
    np.testing.assert_allclose(ratio, ratio[0], rtol=1e-5)


def test_equal_rows_give_zeros():
    assert not principal(np.ones((3, 4)), 2)(np.ones((2, 4))).any()


def test_more_features_than_the_embeddings_have_are_refused():
    with pytest.raises(ScopeError, match="at least 9 features"):
        principal(np.ones((3, 4)), 9)
