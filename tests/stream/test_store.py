"""A bounded store is the same in any order, and a level sample of all that came."""

import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scopefl.core.budget import levelled
from scopefl.core.policy import agree
from scopefl.data.coreset_file import read_coreset, write_coreset
from scopefl.data.opening import open_source
from scopefl.errors import ScopeError
from scopefl.federation.by_file import Rule, coreset
from scopefl.stream.deciding import lot
from scopefl.stream.forgetting import Window, forget
from scopefl.stream.ledger import check_sums
from scopefl.stream.store import members
from scopefl.stream.stream import Plan
from scopefl.vision.scoring import embed_source, score_embedded, with_rules
from tests.stream.sites import KIT, RULES, put, stream, watched
from tests.vision import small

RULE = Rule(keep="0.5", prune_anyway=True)
MOST = 30


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    root = tmp_path_factory.mktemp("whole") / "site"
    for number in range(100):
        put(root, f"{small.CLASSES[(number % 10 > 5) + (number % 10 > 8)]}/{number:03}.png", number)
    (root / "dog/half.png").write_bytes(b"not a picture")
    return root


def slowly(ids, labels, seen, most):
    """Give the names that are in the store: of each class those of the lowest lots."""
    level = levelled(seen, most)
    chosen = set()
    for c, quota in enumerate(level):
        mine = sorted((one for one, label in zip(ids, labels, strict=True) if label == c), key=lot)
        chosen |= set(mine[: int(quota)])
    return chosen


def readable(file):
    """Give the rows of images that can be read: others are named while they are recent only."""
    return [row for row in file.table.to_pylist() if row["fate"] != "quarantined"]


def of_the_store(images, work):
    """Write the coreset that the batch selects from the store's images."""
    embedded = embed_source(
        open_source(images), with_rules(KIT, RULES), RULES, work / "b", runtime="onnxruntime"
    )
    file, _ = score_embedded(embedded, RULES)
    agreement = agree([file.profile.to_bytes(file.fingerprint)])
    inside = slowly(file.ids, file.labels, file.profile.count, MOST)
    folder = work / "inside"
    for path in images.rglob("*.png"):
        name = path.relative_to(images).as_posix()
        if name in inside or name.endswith("half.png"):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, folder / name)
    embedded = embed_source(
        open_source(folder), with_rules(KIT, RULES), RULES, work / "b", runtime="onnxruntime"
    )
    stored, _ = score_embedded(embedded, RULES)
    seen = file.profile.count
    write_coreset(coreset(stored, agreement, RULE, "site", seen=seen), work / "b.parquet")
    return work / "b.parquet"


def fed(whole, tmp_path, seed, **plan):
    arriving, rng = tmp_path / "site", np.random.default_rng(seed)
    files = sorted(path for path in whole.rglob("*") if path.is_file())
    for part in np.array_split(rng.permutation(len(files)), 4):
        for place in part:
            target = arriving / files[place].relative_to(whole)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(files[place], target)
        watched(arriving, tmp_path, rule=RULE, store=MOST, **plan)
    return arriving


@pytest.mark.parametrize("recent", [0, 100])
@pytest.mark.parametrize("seed", [0, 1])
def test_a_bounded_stream_ends_with_the_batch_s_coreset_of_its_store(whole, tmp_path, seed, recent):
    fed(whole, tmp_path, seed, recent=recent)
    ended, batch = (
        read_coreset(path) for path in (tmp_path / "stream.parquet", of_the_store(whole, tmp_path))
    )
    assert readable(ended) == readable(batch)
    assert ended.settings == batch.settings | {"fitness": ended.settings["fitness"]}
    with stream(tmp_path, rule=RULE, store=MOST) as opened:
        assert opened.state.profile.count.sum() == 100
        stored = opened.state.ask("select count(*) from images where stored")[0][0]
        assert stored <= MOST + 300 * bool(recent)


def test_the_store_is_level_and_the_coreset_no_less_balanced(whole, tmp_path):
    fed(whole, tmp_path, 0, recent=0)
    with stream(tmp_path, rule=RULE, store=MOST) as opened:
        held = dict(opened.state.ask("select label, count(*) from images where stored group by 1"))
        assert held == {0: 10, 1: 10, 2: 10}


def test_what_is_not_stored_is_forgotten_exactly_while_its_file_is_there(whole, tmp_path):
    arriving = fed(whole, tmp_path, 0, recent=0)
    with stream(tmp_path, rule=RULE, store=MOST) as opened:
        state, before = opened.state, opened.state.profile
        (name, rs, c), *_ = state.ask("select id, rs, label from images where not stored")
        forget(state, [name])
        gone = before - state.profile
        assert gone.count.tolist() == [int(c == k) for k in range(3)]
        assert gone.mean[0, c] == pytest.approx(rs, abs=1e-6)
    (arriving / name).unlink()
    watched(arriving, tmp_path, rule=RULE, store=MOST, recent=0)


def test_names_are_kept_no_longer_than_files_and_the_sums_for_good(whole, tmp_path):
    arriving = fed(whole, tmp_path, 0, recent=0)
    with stream(tmp_path, rule=RULE, store=MOST) as opened:
        gone = [row[0] for row in opened.state.ask("select id from images where not stored")]
    for name in gone[:40]:
        (arriving / name).unlink()
    watched(arriving, tmp_path, rule=RULE, store=MOST, recent=0)
    with stream(tmp_path, rule=RULE, store=MOST) as opened:
        left = {row[0] for row in opened.state.ask("select id from images")}
        assert left.isdisjoint(gone[:40])
        assert left >= set(gone[40:])
        assert opened.state.profile.count.sum() == 100
        # A class can be forgotten whole, even what only the sums hold of it.
        cats = opened.state.profile.count[0]
        assert forget(opened.state, [], ["cat"]) == cats
        assert opened.state.profile.count[0] == 0
        assert opened.state.beyond.count[0] == 0
        check_sums(opened.state)


def test_a_folder_that_is_empty_for_a_while_is_not_taken_twice(whole, tmp_path):
    arriving = fed(whole, tmp_path, 0, recent=0)
    arriving.rename(tmp_path / "away")
    arriving.mkdir()
    for name in small.CLASSES:
        (arriving / name).mkdir()
    watched(arriving, tmp_path, rule=RULE, store=MOST, recent=0)
    shutil.rmtree(arriving)
    (tmp_path / "away").rename(arriving)
    watched(arriving, tmp_path, rule=RULE, store=MOST, recent=0)
    with stream(tmp_path, rule=RULE, store=MOST) as opened:
        assert opened.state.profile.count.sum() == 100


@settings(deadline=None)
@given(
    st.lists(st.integers(0, 2), min_size=1, max_size=60),
    st.integers(1, 40),
    st.lists(st.integers(0, 60), max_size=5),
)
def test_what_a_full_store_dropped_is_not_wanted_again(labels, most, cuts):
    held, before = [], 0
    for cut in sorted({*(min(one, len(labels)) for one in cuts), len(labels)}):
        held += [str(number) for number in range(before, cut)]
        seen = np.bincount(labels[:cut], minlength=3)
        own = np.array([labels[int(name)] for name in held], np.int32)
        held = [held[n] for n in np.flatnonzero(members(held, own, seen, most)).tolist()]
        before, names = cut, [str(number) for number in range(cut)]
        assert set(held) == slowly(names, labels[:cut], seen, most)


def test_a_store_needs_the_budget_rule_and_no_window():
    for wrong in (
        {"rule": Rule()},
        {"rule": RULE, "window": Window(arrivals=5)},
        {"rule": RULE, "store": 0},
    ):
        with pytest.raises(ScopeError, match="a store must be of at least 1 image"):
            Plan(**{"store": 10, **wrong})


def test_what_comes_to_a_full_store_is_kept_as_seldom_as_it_would_stay(whole, tmp_path):
    arriving = fed(whole, tmp_path, 0, recent=0)
    for number in range(200):
        put(arriving, f"cat/later{number:03}.png", 2000 + number)
    told = [
        one
        for one in watched(arriving, tmp_path, rule=RULE, store=MOST)
        if "later" in vars(one).get("id", "")
    ]
    assert len(told) == 200
    kept = sum(one.fate == "kept" for one in told)
    # Ten of 60 were in the store, and not all of these in the coreset.
    assert 5 <= kept <= 45
