"""A table on disk gives what it gives in memory, row for row."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl import Profile, ScopeError
from scopefl.core.policy import agree
from scopefl.data import batches, sorter
from scopefl.data.coreset_file import read_coreset
from scopefl.data.scores_file import ScoresFile, read_scores, write_scores
from scopefl.federation import by_path
from scopefl.federation.by_file import Rule, coreset
from scopefl.federation.limits import Limits
from tests.clouds import scored

RATES = st.sampled_from(["0", "0.1", 0.3, "0.7", "0.99"])
P_L = RATES | st.just("auto")
RULES = st.builds(Rule, p_l=P_L, p_f=RATES, beta=st.sampled_from([0, 0.5, 1.0])) | st.builds(
    Rule, p_l=P_L, keep=st.sampled_from(["0", "0.1", 0.4, "0.9", 1]), run=st.sampled_from(["", "r"])
)
LIMITS = st.none() | st.builds(
    Limits, st.sampled_from(["0", 0.2, "0.5", 1]), st.sampled_from([0, 1, 3, 100])
)


@pytest.fixture(autouse=True, scope="module")
def small():
    """Make everything so small that a few samples are too many for memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "LARGE", -1)
        patch.setattr(batches, "BATCH", 7)
        patch.setattr(sorter, "MOST", 9)
        yield


@st.composite
def files(draw):
    """A scores file with ties, twins, quarantined rows, rivals or none; and its merged policy."""
    scores, labels, n_classes = draw(scored())
    n = len(labels)
    if n and draw(st.booleans()):
        rows = np.array(draw(st.lists(st.integers(0, n - 1), min_size=n, max_size=n)))
        scores, labels = scores[rows], labels[rows]
    if draw(st.sampled_from([False, False, True])):
        scores = type(scores)(scores.rs, scores.ds, scores.s_neg)
    classes = [f"class {c}" for c in range(n_classes)]
    prototypes = {"prototypes": draw(st.sampled_from(["text", "visual"]))}
    file = ScoresFile.of(scores, labels, classes, b"a kit", settings=prototypes)
    lost = draw(st.lists(st.booleans(), min_size=n, max_size=n + 9))
    places = np.array([*np.zeros(max(0, n - lost.count(False)), bool), *lost], bool)
    kept = ~places
    kept[np.flatnonzero(kept)[n:]] = False
    total = len(kept)
    names = [f"{number:03d}" for number in draw(st.permutations(range(total)))]
    label = np.full(total, "unknown", object)
    label[kept] = [classes[y] for y in labels]
    reasons = [None if one else "it is empty" for one in kept]
    whole = file.among(kept, ids=names, paths=names, labels=label.tolist(), reasons=reasons)
    other = Profile.of(scores, labels, n_classes)
    merged = agree([other.to_bytes(b"a kit")] * draw(st.sampled_from([1, 3])))
    return whole, merged


def words(table):
    return [
        column.cast(pa.string()) if pa.types.is_dictionary(column.type) else column
        for column in table.columns
    ]


@settings(max_examples=100, deadline=None)
@given(files(), RULES, LIMITS)
def test_a_table_on_disk_gives_the_coreset_it_gives_in_memory(made, rule, limits):
    file, agreement = made
    with tempfile.TemporaryDirectory() as folder:
        path, out = Path(folder, "s.parquet"), Path(folder, "new", "c.parquet")
        write_scores(file, path)
        scores = file.scores
        if rule.p_l == "auto" and scores.rival is None:
            with pytest.raises(ScopeError, match="needs the rival class of each sample"):
                by_path.select(path, out, agreement, rule, "me", limits)
            assert not list(out.parent.iterdir())
            return
        expected = coreset(read_scores(path), agreement, rule, "me", limits)
        fates = by_path.select(path, out, agreement, rule, "me", limits)
        found = read_coreset(out)
        assert [path.name for path in out.parent.iterdir()] == [out.name]
    assert fates == expected.fates == found.fates
    assert found.table.schema.equals(expected.table.schema)
    assert words(found.table) == words(expected.table)
    assert found.settings == expected.settings
    assert (found.classes, found.fingerprint) == (expected.classes, expected.fingerprint)
