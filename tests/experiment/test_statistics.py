import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.experiment.statistics import holm, paired

scipy = pytest.importorskip("scipy.stats")


def test_a_paired_test_is_the_one_sample_test_of_the_differences():
    ours, theirs = [0.5, 0.7, 0.6, 0.9], [0.4, 0.65, 0.62, 0.7]
    gap = np.subtract(ours, theirs)
    t = gap.mean() / (gap.std(ddof=1) / 2)
    assert paired(ours, theirs).p == pytest.approx(2 * scipy.t.sf(abs(t), df=3))


def test_too_few_pairs_claim_nothing():
    assert paired([9.0, 9.1], [1.0, 1.0]).p == 1


def test_the_same_difference_every_time_is_certain_and_none_is_not():
    assert paired([2.0, 3.0, 4.0], [1.0, 2.0, 3.0]).p == 0
    assert paired([2.0, 3.0, 4.0], [2.0, 3.0, 4.0]).p == 1


def test_holm_multiplies_by_what_is_left_and_never_falls():
    assert holm([0.04, 0.01, 0.02, 0.9]) == pytest.approx([0.08, 0.04, 0.06, 0.9])


@given(st.lists(st.floats(0, 1), max_size=20))
def test_holm_lies_between_a_single_test_and_bonferroni(p):
    for raw, corrected in zip(p, holm(p), strict=True):
        assert raw <= corrected <= min(1, len(p) * raw) + 1e-12
