"""Fates on disk change as fates in memory do, whatever a rule asks for."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl import Profile, consensus
from scopefl.core.fates import ANOMALOUS, KEPT, REDUNDANT, FatesInMemory
from scopefl.core.standard import anomaly, leaning, misplaced, redundancy, reverse
from scopefl.data import batches, sorter
from scopefl.data.batches import ScoresTable
from scopefl.data.fates_on_disk import FatesOnDisk
from scopefl.data.scores_file import ScoresFile, write_scores
from tests.clouds import scored

FATE = st.sampled_from([KEPT, ANOMALOUS, REDUNDANT])
ORDER = st.sampled_from([anomaly, redundancy, reverse(anomaly), reverse(redundancy)])
COUNTS = st.lists(st.integers(-2, 12), min_size=6, max_size=6)
STEPS = st.lists(
    st.tuples(st.just("turn"), st.sampled_from([misplaced, leaning]), FATE, FATE)
    | st.tuples(
        st.just("turn_highest"), COUNTS, ORDER, FATE, FATE, st.sampled_from([None, leaning])
    )
    | st.tuples(st.just("turn_highest_of_all"), st.integers(-1, 30), ORDER, FATE, FATE)
    | st.tuples(st.just("thin"), COUNTS),
    min_size=1,
    max_size=4,
)


@pytest.fixture(autouse=True, scope="module")
def small():
    """Make everything so small that a few samples are too many for memory."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(batches, "BATCH", 7)
        patch.setattr(sorter, "MOST", 5)
        yield


@settings(max_examples=60, deadline=None)
@given(scored(), STEPS, st.randoms(), st.booleans())
def test_every_step_turns_the_same_samples(collection, steps, random, alike):
    scores, labels, n_classes = collection
    if alike and len(scores):  # one sample many times over: only ids tell them apart
        scores, labels = scores[np.zeros(len(labels), int)], np.repeat(labels[:1], len(labels))
    ids = [f"{number}" for number in random.sample(range(1000), len(labels))]
    policy = consensus(Profile.of(scores, labels, n_classes))
    file = ScoresFile.of(scores, labels, [str(c) for c in range(n_classes)], b"", ids=ids)
    memory = FatesInMemory(scores, labels, policy, np.array(ids, object))
    with tempfile.TemporaryDirectory() as folder:
        write_scores(file, Path(folder, "s.parquet"))
        disk = FatesOnDisk(ScoresTable.open(Path(folder, "s.parquet")), policy, Path(folder))
        for name, *given_ in steps:
            arguments = [
                np.maximum(np.array(a[:n_classes]), 0 if name == "thin" else -2)
                if isinstance(a, list)
                else a
                for a in given_
            ]
            for fates in (memory, disk):
                getattr(fates, name)(*arguments)
            fate = [one for here in disk.stretches(*batches.LABELS) for one in here.fate.tolist()]
            assert fate == memory.fate.tolist()
            for which in (KEPT, ANOMALOUS, REDUNDANT):
                assert np.array_equal(disk.counts(which), memory.counts(which))
