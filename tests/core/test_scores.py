import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl import ScopeError, Scores, score
from scopefl.core.scores import residual
from tests import naive
from tests.clouds import cloud, unit


def same(a: Scores, b: Scores) -> bool:
    return all(np.array_equal(getattr(a, f), getattr(b, f)) for f in ("rs", "ds", "s_neg", "rival"))


def dyadic(rng, n, dimension=24):
    """Unit rows whose products need so few bits that float32 sums are exact in any order."""
    rows = np.zeros((n, dimension), np.float32)
    for row in rows:
        size, value = [(4, 0.5), (16, 0.25), (1, 1.0)][rng.integers(3)]
        row[rng.choice(dimension, size, replace=False)] = value * rng.choice([-1, 1], size)
    return rows


def test_three_samples_worked_by_hand():
    prototypes = np.float32([[1, 0, 0], [0, 1, 0], [0, 0, 1]])
    images = np.float32([[0.6, 0.8, 0], [0, 1, 0], [0.48, 0.6, 0.64]])
    s = score(images, prototypes, np.array([0, 1, 2]))
    assert s.rs.tolist() == np.float32([0.6, 1.0, 0.64]).tolist()
    assert s.s_neg.tolist() == np.float32([0.8, 0.0, 0.6]).tolist()
    assert np.allclose(s.ds, [0.8, 0.0, np.sqrt(1 - 0.64**2)], atol=1e-7)
    assert s.rival.tolist() == [1, 0, 1]


@given(st.integers(0, 2**32), st.integers(2, 40))
def test_equals_the_naive_scores_bit_for_bit_where_sums_are_exact(seed, n_classes):
    rng = np.random.default_rng(seed)
    images, prototypes = dyadic(rng, 30), dyadic(rng, n_classes)
    labels = rng.integers(0, n_classes, len(images))
    fast, slow = score(images, prototypes, labels), naive.scores(images, prototypes, labels)
    assert same(fast, slow)


def test_equals_the_naive_scores_closely_everywhere():
    images, prototypes, labels = cloud(n=200)
    fast, slow = score(images, prototypes, labels), naive.scores(images, prototypes, labels)
    for metric in ("rs", "ds", "s_neg"):
        assert np.allclose(getattr(fast, metric), getattr(slow, metric), rtol=0, atol=3e-7)
    assert np.array_equal(fast.rival, slow.rival)


@pytest.mark.parametrize("n_classes", [2, 7, 16, 100, 333])
@pytest.mark.parametrize("dimension", [5, 64, 512])
def test_a_sample_scores_the_same_wherever_it_stands(n_classes, dimension):
    images, prototypes, labels = cloud(2500, n_classes, dimension)
    whole = score(images, prototypes, labels)
    order = np.random.default_rng(1).permutation(len(images))
    assert same(score(images[order], prototypes, labels[order]), whole[order])
    for rows in (slice(0, 1), slice(7, 8), slice(1000, 1700), slice(2499, 2500)):
        assert same(score(images[rows], prototypes, labels[rows]), whole[rows])


@pytest.mark.parametrize("n_classes", [2, 7, 30, 100])
def test_renumbering_the_classes_renumbers_the_rivals_and_changes_no_score(n_classes):
    images, prototypes, labels = cloud(600, n_classes, 512)
    number = np.random.default_rng(2).permutation(n_classes)
    renumbered = np.empty_like(prototypes)
    renumbered[number] = prototypes
    whole, other = score(images, prototypes, labels), score(images, renumbered, number[labels])
    assert same(other, Scores(whole.rs, whole.ds, whole.s_neg, number[whole.rival]))


def test_half_precision_and_memory_mapped_rows_are_taken_as_they_are(tmp_path):
    images, prototypes, labels = cloud(1500)
    np.save(tmp_path / "v.npy", images.astype(np.float16))
    mapped = np.load(tmp_path / "v.npy", mmap_mode="r")
    half = score(mapped, prototypes, labels)
    assert same(half, score(images.astype(np.float16).astype(np.float32), prototypes, labels))


def test_fortran_order_and_strides_change_nothing():
    images, prototypes, labels = cloud(300)
    wide = np.repeat(images, 2, axis=1)
    whole = score(images, prototypes, labels)
    assert same(score(np.asfortranarray(images), prototypes, labels), whole)
    assert same(score(wide[:, ::2], prototypes, labels), whole)


def test_the_length_of_the_residual_is_ds():
    images, prototypes, labels = cloud(100)
    s = score(images, prototypes, labels)
    own = prototypes[labels].astype(float)
    rejected = images - (images * own).sum(1, keepdims=True) * own
    assert np.allclose(s.ds, np.linalg.norm(rejected, axis=1), atol=1e-6)


def test_residual_of_a_cosine_just_above_one_is_zero():
    assert residual(np.float32([1 + 1e-6, -1])).tolist() == [0, 0]


def test_no_samples_give_no_scores():
    s = score(np.zeros((0, 4), np.float32), np.eye(4, dtype=np.float32), np.array([]))
    assert len(s) == 0


def bad(change):
    images, prototypes, labels = cloud(20)
    return change(images.copy(), prototypes.copy(), labels.copy())


def spoil(array, row, value):
    array[row] = value
    return array


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda v, t, y: (spoil(v, (3, 0), np.nan), t, y), "NaN or infinity in row 3"),
        (lambda v, t, y: (spoil(v, (4, 1), np.inf), t, y), "NaN or infinity in row 4"),
        (lambda v, t, y: (spoil(v, 5, 2 * v[5]), t, y), "norm 2 in row 5; divide"),
        (lambda v, t, y: (v, spoil(t, 1, 0), y), "prototypes must have unit rows, got norm 0"),
        (lambda v, t, y: (v, t, spoil(y, 9, 7)), r"labels must be in 0..6, got 7 at row 9"),
        (lambda v, t, y: (v, t, spoil(y, 2, -1)), "got -1 at row 2"),
        (lambda v, t, y: (v, t, y[:-1]), r"one entry a sample, \(20,\), got shape \(19,\)"),
        (lambda v, t, y: (v, t, y * 1.0), "whole class numbers, got float64"),
        (lambda v, t, y: (v, t[:1], y * 0), "at least 2 classes, got 1.*S_neg has no rival"),
        (lambda v, t, y: (v[:, :-1], t, y), "with the same D"),
        (lambda v, t, y: (v[0], t, y), "with the same D"),
    ],
)
def test_bad_input_is_named(change, sentence):
    with pytest.raises(ScopeError, match=sentence):
        score(*bad(change))


def test_unit_is_unit():
    assert np.allclose(np.linalg.norm(unit([[3, 4], [0, 2]]), axis=1), 1)
