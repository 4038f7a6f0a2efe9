"""Reading ahead keeps the order, is bounded, and loses at most a shard when it is stopped."""

import os
import threading
import time

import numpy as np
import pytest

from scopefl.data.rules import DecodingRules
from scopefl.data.source import Item
from scopefl.data.unreadable import Unreadable
from scopefl.errors import ScopeError
from scopefl.vision import embedding
from scopefl.vision.embedding import AHEAD, SHARD, Cache, embed
from scopefl.vision.scoring import unit_rows
from tests.vision import small

RULES = DecodingRules()
KIT = small.kit()
ENCODER = KIT.encoder("onnxruntime")


def picture(number):
    return np.full((12, 12, 3), number % 251, np.uint8) + np.eye(12, dtype=np.uint8)[..., None] * (
        number // 251
    )


def items(n, read=picture):
    return (Item(f"{i:05}", f"{i:05}", "cat", lambda i=i: read(i)) for i in range(n))


def cache_in(folder):
    return Cache.of(folder, KIT, RULES, "onnxruntime")


def test_outcomes_keep_the_order_of_the_items_whatever_takes_long(tmp_path):
    def slowly(number):
        time.sleep(0.02 * (number % 3 == 0))
        return picture(number)

    found = list(embed(items(20, slowly), ENCODER, RULES, cache_in(tmp_path)))
    assert [one.id for one in found] == [f"{i:05}" for i in range(20)]
    assert len({one.key for one in found}) == 20


def test_every_embedding_is_the_encoder_s_own_in_half_precision(tmp_path):
    cache = cache_in(tmp_path)
    found = list(embed(items(40), ENCODER, RULES, cache))
    alone = [ENCODER.embed(ENCODER.prepare(picture(i))[None])[0] for i in range(40)]
    rows = cache.rows([one.key for one in found])
    np.testing.assert_array_equal(rows, np.array(alone, np.float16))
    lengths = np.linalg.norm(unit_rows(cache, [one.key for one in found]), axis=1)
    np.testing.assert_allclose(lengths, 1, atol=1e-6)


def test_a_reason_takes_the_place_of_a_key(tmp_path):
    def read(number):
        if number == 1:
            raise Unreadable("no good")
        if number == 2:
            raise RuntimeError("the source broke")
        return picture(number) if number else b"<html>"

    found = list(embed(items(4, read), ENCODER, RULES, cache_in(tmp_path)))
    assert [one.key is None for one in found] == [True, True, True, False]
    assert "not an image" in found[0].reason
    assert found[1].reason == "no good"
    assert "the source broke" in found[2].reason
    assert found[3].reason is None


def test_reading_runs_ahead_but_not_far(tmp_path):
    lock, read = threading.Lock(), []

    def counted(number):
        with lock:
            read.append(number)
        return picture(number)

    outcomes = embed(items(AHEAD * 3, counted), ENCODER, RULES, cache_in(tmp_path))
    next(outcomes)
    time.sleep(0.3)
    assert 1 < len(read) <= AHEAD
    outcomes.close()
    time.sleep(0.1)
    assert len(read) <= AHEAD


def test_a_stopped_run_keeps_whole_shards(tmp_path):
    outcomes = embed(items(SHARD + 200), ENCODER, RULES, cache_in(tmp_path))
    for _ in range(SHARD + 100):
        next(outcomes)
    outcomes.close()
    kept = len(cache_in(tmp_path).embeddings)
    assert SHARD <= kept <= SHARD + ENCODER.batch_size
    assert len(list(embed(items(SHARD + 200), ENCODER, RULES, cache_in(tmp_path)))) == SHARD + 200
    assert len(cache_in(tmp_path).embeddings) == SHARD + 200


def test_everyone_is_told_of_each_item_once(tmp_path):
    told = []
    found = list(embed(items(9), ENCODER, RULES, cache_in(tmp_path), told.append))
    assert told == found


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ScopeError, match="could not be written"):
        list(embed(items(2), ENCODER, RULES, cache_in(tmp_path / "file")))


def test_towers_preprocessing_and_runtimes_are_cached_apart_and_classes_are_not(tmp_path):
    def place(kit, rules=RULES, runtime="onnxruntime"):
        cache = Cache.of(tmp_path, kit, rules, runtime)
        return cache.embeddings.folder, cache.contents.folder

    tower, contents = place(KIT)
    other_classes = small.kit(classes=("x", "y", "z"), prototypes=small.prototypes(seed=9))
    assert place(other_classes) == (tower, contents)
    assert place(small.kit(model=small.tower(4)))[0] != tower
    stricter = place(KIT, DecodingRules(min_side=9))
    assert stricter[0] == tower
    assert stricter[1] != contents


def test_a_runtime_of_its_own_has_embeddings_of_its_own(tmp_path):
    pytest.importorskip("openvino")
    one, other = (Cache.of(tmp_path, KIT, RULES, name) for name in ("onnxruntime", "openvino"))
    assert one.embeddings.folder != other.embeddings.folder


def test_a_file_has_a_name_only_once_it_has_settled(tmp_path, monkeypatch):
    path = tmp_path / "a"
    path.write_bytes(b"x")
    assert embedding._identity(path) is None
    later = time.time_ns() + embedding.SETTLED
    monkeypatch.setattr(embedding.time, "time_ns", lambda: later + 10**9)
    name = embedding._identity(path)
    assert name is not None
    assert embedding._identity(path) == name
    os.utime(path, (1, 1))
    assert embedding._identity(path) not in (None, name)
    assert embedding._identity(tmp_path / "gone") is None
    assert embedding._identity(tmp_path / "nul\0") is None
