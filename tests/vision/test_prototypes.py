import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl.core.envelope import seal, unseal
from scopefl.errors import FingerprintError, ScopeError
from scopefl.vision.prototypes import UNIT, Centroids, fingerprint_of, leave_one_out

MARK = b"12345678"


def samples(seed=0, n=40, dim=6, classes=3):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    rows = rng.standard_normal((n, dim)) + 2 * np.eye(classes, dim)[labels] + 1
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32), labels


def same(one, other):
    np.testing.assert_array_equal(one.count, other.count)
    np.testing.assert_array_equal(one.sums, other.sums)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32), st.sets(st.integers(0, 40)), st.randoms())
def test_merged_in_any_cut_and_order_equals_pooled(seed, cuts, random):
    rows, labels = samples(seed)
    parts = [
        Centroids.of(r, c, 3)
        for r, c in zip(np.split(rows, sorted(cuts)), np.split(labels, sorted(cuts)), strict=True)
    ]
    random.shuffle(parts)
    same(sum(parts, Centroids.empty(3, 6)), Centroids.of(rows, labels, 3))


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32))
def test_bytes_read_back(seed):
    rows, labels = samples(seed)
    found = Centroids.of(rows, labels, 5)
    message = found.to_bytes(MARK)
    same(Centroids.from_bytes(message, MARK), found)
    assert fingerprint_of(message) == MARK


def test_absent_classes_cost_one_byte():
    rows, labels = samples()
    few = len(Centroids.of(rows, labels, 3).to_bytes(MARK))
    assert len(Centroids.of(rows, labels, 100).to_bytes(MARK)) == few + 97


def test_each_sample_is_compared_with_means_that_leave_it_out():
    rows, labels = samples()
    found = leave_one_out(rows, labels, Centroids.of(rows, labels, 3))
    quantised = np.rint(rows.astype(float) * UNIT) / UNIT
    for i in range(len(rows)):
        others = np.delete(np.arange(len(rows)), i)
        mean = quantised[others].mean(axis=0)
        x = quantised[i] - mean
        cosines = []
        for c in range(3):
            mine = others[labels[others] == c]
            p = quantised[mine].mean(axis=0) - mean
            cosines.append(x @ p / np.linalg.norm(x) / np.linalg.norm(p))
        rivals = [c for c in range(3) if c != labels[i]]
        assert found.rs[i] == pytest.approx(cosines[labels[i]], abs=1e-5)
        assert found.s_neg[i] == pytest.approx(max(cosines[c] for c in rivals), abs=1e-5)
        assert found.rival[i] == max(rivals, key=lambda c: cosines[c])
    np.testing.assert_allclose(found.ds, np.sqrt(1 - found.rs.astype(float) ** 2), atol=1e-6)


def test_sites_score_against_the_merged_means_as_if_pooled():
    rows, labels = samples()
    whole = Centroids.of(rows[:15], labels[:15], 3) + Centroids.of(rows[15:], labels[15:], 3)
    pooled = leave_one_out(rows, labels, Centroids.of(rows, labels, 3))
    np.testing.assert_array_equal(leave_one_out(rows[15:], labels[15:], whole).rs, pooled.rs[15:])


def test_a_wrong_label_shows():
    rows, labels = samples(n=300)
    wrong = labels.copy()
    wrong[:30] = (labels[:30] + 1) % 3
    found = leave_one_out(rows, wrong, Centroids.of(rows, wrong, 3))
    margin = found.rs - found.s_neg
    assert margin[:30].mean() < 0 < margin[30:].mean()


def test_a_sample_alone_in_its_class_is_neither_for_nor_against():
    rows, labels = samples()
    labels = labels.copy()
    labels[0] = 3
    found = leave_one_out(rows, labels, Centroids.of(rows, labels, 5))
    assert found.rs[0] == 0
    assert np.isfinite(found.s_neg).all()
    assert 4 not in found.rival


def test_no_samples_give_no_scores():
    rows, labels = samples()
    assert len(leave_one_out(rows[:0], labels[:0], Centroids.of(rows, labels, 3))) == 0


def test_one_class_has_no_rival():
    rows, labels = samples()
    with pytest.raises(ScopeError, match="at least two classes"):
        leave_one_out(rows, 0 * labels, Centroids.of(rows, 0 * labels, 3))


def test_samples_that_the_centroids_do_not_count_are_noticed():
    rows, labels = samples()
    with pytest.raises(ScopeError, match="must count every sample"):
        leave_one_out(rows, labels, Centroids.of(rows[:20], labels[:20], 3))


@pytest.mark.parametrize("bad", [np.nan, 5.0])
def test_rows_must_be_unit(bad):
    rows, labels = samples()
    rows[3, 2] = bad
    with pytest.raises(ScopeError, match="length 1"):
        Centroids.of(rows, labels, 3)


@pytest.mark.parametrize("labels", [np.array([0, 3]), np.array([-1, 0]), np.array([0])])
def test_labels_must_fit(labels):
    with pytest.raises(ScopeError):
        Centroids.of(samples()[0][:2], labels, 3)


def test_centroids_of_different_shape_do_not_add():
    with pytest.raises(ScopeError, match="same classes and dimension"):
        Centroids.empty(3, 6) + Centroids.empty(3, 7)


def test_another_kit_s_centroids_are_refused():
    with pytest.raises(FingerprintError, match="score again"):
        Centroids.from_bytes(Centroids.empty(3, 6).to_bytes(MARK), b"87654321")


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=60))
def test_any_body_is_read_or_refused_and_never_exceeds_its_number(body):
    try:
        found = Centroids.from_bytes(seal(b"C", body))
    except ScopeError:
        return
    assert (np.abs(found.sums) <= UNIT * found.count[:, None]).all()


def test_an_impossible_sum_is_refused():
    rows, labels = samples()
    body = bytearray(unseal(b"C", Centroids.of(rows, labels, 3).to_bytes(MARK)))
    body[-1] = 0x7F
    with pytest.raises(ScopeError, match="must not exceed"):
        Centroids.from_bytes(seal(b"C", bytes(body)))
