"""Rows sorted on disk stand where `ranked` puts them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.core.order import ranked
from scopefl.data.sorter import Sorter

ROW = st.tuples(
    st.integers(0, 2),
    st.sampled_from([-1.0, -0.0, 0.0, 0.25]),
    st.sampled_from([-2.0, 0.0, 5.0]),
    st.sampled_from(["", "a", "a\0", "aa", "B", "é", "z", "\U0001f600", "\uffff"]),
)


def in_order(rows, folder, most):
    sorter = Sorter(folder, most)
    for start in range(0, len(rows), 3):
        part = rows[start : start + 3]
        group, first, then, ids = zip(*part, strict=True)
        keys = np.array(first), np.array(then)
        row = np.arange(start, start + len(part))
        sorter.add(np.array(group), keys, pa.array(ids), row)
    return list(sorter.blocks())


@given(st.lists(ROW, max_size=60, unique_by=lambda row: row[3:] + row[:3]), st.integers(1, 12))
def test_rows_stand_where_ranked_puts_them(tmp_path_factory, rows, most):
    folder = tmp_path_factory.mktemp("runs")
    blocks = in_order(rows, folder, most)
    found = [tuple(x) for b in blocks for x in zip(b.group, b.place, b.row, strict=True)]
    expected = []
    for group in range(3):
        here = np.array([i for i, row in enumerate(rows) if row[0] == group], np.intp)
        keys = [np.array([row[k] for row in rows]) for k in (1, 2)]
        ids = np.array([row[3] for row in rows], object)
        order = ranked(keys, ids, here) if len(here) else here
        expected += [(group, place, row) for place, row in enumerate(order.tolist())]
    assert found == expected
    assert not list(folder.iterdir())


@pytest.mark.parametrize("seed", range(3))
def test_no_block_is_larger_than_what_is_sorted_at_a_time(tmp_path, seed):
    # All alike but for their ids, in runs that do not overlap: nothing but the ids can part them.
    rng = np.random.default_rng(seed)
    names = np.sort(rng.permutation(4000)) if seed else rng.permutation(4000)
    sorter = Sorter(tmp_path, 256)
    for part in np.split(names, 40):
        nothing = np.zeros(len(part))
        ids = pa.array([f"{name:06d}" for name in part])
        sorter.add(np.zeros(len(part), int), (nothing, nothing), ids, part)
    blocks = list(sorter.blocks())
    assert np.concatenate([block.row for block in blocks]).tolist() == list(range(4000))
    assert max(len(block.row) for block in blocks) <= 512
