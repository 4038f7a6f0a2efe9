import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from scopefl.core.order import by_class, exact, highest, ranked

FEW = st.sampled_from([0.0, 0.5, 1.0, -1.0])


@given(st.integers(0, 30), st.data())
def test_highest_and_ranked_equal_a_plain_sort(n, data):
    first, second = (data.draw(hnp.arrays(float, n, elements=FEW)) for _ in "ab")
    ids = np.array(data.draw(st.permutations(range(n))), int)
    rows = np.flatnonzero(data.draw(hnp.arrays(bool, n)))
    count = data.draw(st.integers(0, n))
    plain = sorted(rows.tolist(), key=lambda i: (-first[i], -second[i], ids[i]))
    assert ranked((first, second), ids, rows).tolist() == plain
    assert sorted(highest(count, (first, second), ids, rows).tolist()) == sorted(plain[:count])


@given(hnp.arrays(np.int64, st.integers(0, 50), elements=st.integers(0, 5)))
def test_by_class_gives_every_row_once_in_its_order(labels):
    groups = by_class(labels, 6)
    assert [g.tolist() for g in groups] == [np.flatnonzero(labels == c).tolist() for c in range(6)]


def test_more_classes_than_sixteen_bits_hold_are_still_told_apart():
    groups = by_class(np.array([70_000, 70_000 - 65_536]), 70_001)
    assert groups[70_000].tolist() == [0]


def test_a_fraction_is_the_decimal_that_was_written():
    assert int(exact("p", 0.29) * 100) == 29
    assert int(exact("p", "1/3") * 9) == 3
