"""From real files in real folders to scores: nothing read twice, nothing lost, nothing changed."""

import os
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest
from PIL import Image

from scopefl.data.opening import open_source
from scopefl.data.rules import DecodingRules
from scopefl.errors import ScopeError
from scopefl.testing.exhibit import encoded, grey, png, tiff
from scopefl.vision.kit import Kit
from scopefl.vision.scoring import class_list, embed_source, score_source, with_rules
from tests.vision import small

RULES = DecodingRules()


@dataclass
class Counted:
    """A collection that counts how often its items are read."""

    source: object
    reads: int = 0

    def __post_init__(self):
        self.name, self.classes = self.source.name, self.source.classes

    def __len__(self):
        return len(self.source)

    def __iter__(self):
        for item in self.source:
            yield replace(item, read=lambda item=item: self.counted(item))

    def counted(self, item):
        self.reads += 1
        return item.read()


def scored(folder, cache, kit: Kit | None = None, rules=RULES):
    source = Counted(open_source(folder) if not hasattr(folder, "classes") else folder)
    kit = kit or small.kit()
    file, fit = score_source(source, kit, rules, cache=cache, runtime="onnxruntime")
    return file, source.reads, fit


def by_id(file):
    rows = file.table.to_pylist()
    return {row["id"]: (row["rs"], row["ds"], row["s_neg"], row["rival"]) for row in rows}


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    """Give pictures that nobody has touched for a moment."""
    folder = small.folder(tmp_path_factory.mktemp("images") / "site")
    time.sleep(2.1)
    return folder


def test_a_second_run_reads_nothing_and_gives_the_same(images, tmp_path):
    first, reads, _ = scored(images, tmp_path)
    assert reads == 12
    second, again, _ = scored(images, tmp_path)
    assert again == 0
    assert first.table.equals(second.table)


def test_other_classes_and_prototypes_read_nothing(images, tmp_path):
    scored(images, tmp_path)
    names = ("eel", "dog", "cat", "fox")
    other = small.kit(classes=names, prototypes=small.prototypes(names, seed=5))
    file, reads, _ = scored(images, tmp_path, other)
    assert reads == 0
    assert file.classes == names


def test_another_tower_or_other_rules_read_everything(images, tmp_path):
    scored(images, tmp_path)
    assert scored(images, tmp_path, small.kit(model=small.tower(9)))[1] == 12
    assert scored(images, tmp_path, rules=DecodingRules(background=0))[1] == 12


def test_a_file_changed_to_the_same_size_and_time_is_read_again(tmp_path):
    folder = small.folder(tmp_path / "site", 2)
    path = folder / "cat" / "0000.png"
    Image.fromarray(np.zeros((24, 24, 3), np.uint8)).save(path, "BMP")
    before = path.stat()
    time.sleep(2.1)
    first, _, _ = scored(folder, tmp_path / "cache")
    Image.fromarray(np.eye(24, dtype=np.uint8)[..., None] * np.uint8([255, 0, 9])).save(path, "BMP")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    after = path.stat()
    assert (after.st_size, after.st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    second, reads, _ = scored(folder, tmp_path / "cache")
    assert reads == 1
    assert by_id(first)["cat/0000.png"] != by_id(second)["cat/0000.png"]
    fresh, _, _ = scored(folder, tmp_path / "fresh")
    assert second.table.equals(fresh.table)


def test_a_file_written_a_moment_ago_is_read_again_but_not_embedded_again(tmp_path):
    folder = small.folder(tmp_path / "site", 2)
    scored(folder, tmp_path / "cache")
    shards = set((tmp_path / "cache").rglob("*.records"))
    assert scored(folder, tmp_path / "cache")[1] == 6
    assert set((tmp_path / "cache").rglob("*.records")) == shards


def test_neither_order_nor_batches_nor_the_cache_change_a_score(images, tmp_path, monkeypatch):
    whole, _, _ = scored(images, tmp_path / "whole")
    for size in (1, 5):
        monkeypatch.setattr("scopefl.vision.encoder.TowerEncoder.batch_size", size)
        assert scored(images, tmp_path / f"by-{size}")[0].table.equals(whole.table)
    permuted = tmp_path / "site"
    permuted.mkdir()
    shuffled = np.random.default_rng(0).permutation(12)
    for number, path in zip(shuffled, sorted(images.rglob("*.png")), strict=True):
        target = permuted / path.parent.name
        target.mkdir(exist_ok=True)
        (target / f"{number:03}-{path.parent.name}-{path.name}").symlink_to(path)
    file, _, _ = scored(permuted, tmp_path / "permuted")
    assert [row["id"] for row in file.table.to_pylist()] != list(by_id(whole))
    found = {f"{i.split('-')[1]}/{i.split('-')[2]}": row for i, row in by_id(file).items()}
    assert found == by_id(whole)


def test_many_shards_and_many_chunks_are_one_collection(tmp_path, monkeypatch):
    folder = small.folder(tmp_path / "site", 30, side=9)
    whole, _, _ = scored(folder, tmp_path / "whole")
    monkeypatch.setattr("scopefl.vision.embedding.SHARD", 7)
    monkeypatch.setattr("scopefl.vision.embedding.AHEAD", 3)
    monkeypatch.setattr("scopefl.vision.scoring.CHUNK", 11)
    cut, _, _ = scored(folder, tmp_path / "cut")
    assert cut.table.equals(whole.table)
    assert len(list((tmp_path / "cut" / "embeddings").rglob("*.records"))) > 2


def test_a_damaged_shard_costs_its_embeddings_and_nothing_else(images, tmp_path):
    first, _, _ = scored(images, tmp_path)
    for shard in (tmp_path / "embeddings").rglob("*.records"):
        data = bytearray(shard.read_bytes())
        data[len(data) // 2] ^= 1
        shard.write_bytes(data)
    for shard in (tmp_path / "contents").rglob("*.records"):
        shard.write_bytes(shard.read_bytes()[:99])
    second, reads, _ = scored(images, tmp_path)
    assert reads == 12
    assert first.table.equals(second.table)


def test_parts_embedded_apart_make_the_same_scores_without_reading(images, tmp_path):
    whole, _, _ = scored(images, tmp_path / "whole")
    for part in range(5):
        source = Counted(open_source(images))
        kit = with_rules(small.kit(), RULES)
        found = embed_source(
            source, kit, RULES, tmp_path / "parts", runtime="onnxruntime", part=(part, 5)
        )
        assert source.reads == len(found.outcomes) == len(range(part, 12, 5))
    assembled, reads, _ = scored(images, tmp_path / "parts")
    assert reads == 0
    assert assembled.table.equals(whole.table)


def test_duplicates_are_scored_alike_counted_and_embedded_once(tmp_path):
    folder = small.folder(tmp_path / "site", 2)
    data = (folder / "cat" / "0000.png").read_bytes()
    for name in ("cat/twin.png", "cat/third.png", "dog/other.png"):
        (folder / name).write_bytes(data)
    file, _, _ = scored(folder, tmp_path / "cache")
    rows = by_id(file)
    assert rows["cat/0000.png"] == rows["cat/twin.png"] == rows["cat/third.png"]
    assert rows["dog/other.png"] != rows["cat/twin.png"]
    assert file.settings["duplicates"] == 3
    (shard,) = (tmp_path / "cache" / "embeddings").rglob("*.records")
    assert shard.stat().st_size < 6 * (32 + 2 * small.DIM) + 64


def test_an_unknown_label_stops_before_anything_is_read(images, tmp_path):
    names = ("cat", "dog", "eal")
    source = Counted(open_source(images))
    kit = with_rules(small.kit(classes=names), RULES)
    with pytest.raises(ScopeError, match=r"'eel' \(4 times, near 'eal'\)"):
        embed_source(source, kit, RULES, tmp_path, runtime="onnxruntime")
    assert source.reads == 0


def test_a_collection_without_labels_is_an_error_that_says_what_to_give(tmp_path):
    flat = small.folder(tmp_path / "site") / "cat"
    with pytest.raises(ScopeError, match="names no labels; put images into class folders"):
        scored(flat, tmp_path / "cache")


def test_an_empty_collection_is_an_error_and_no_empty_file(tmp_path):
    (tmp_path / "site" / "cat").mkdir(parents=True)
    with pytest.raises(ScopeError, match="site must hold at least one image"):
        scored(tmp_path / "site", tmp_path / "cache")


def test_what_has_no_label_is_quarantined_unread(tmp_path):
    folder = small.folder(tmp_path / "site", 1)
    (folder / "stray.png").write_bytes((folder / "cat" / "0000.png").read_bytes())
    file, reads, _ = scored(folder, tmp_path / "cache")
    assert reads == 3
    (lost,) = file.quarantined.to_pylist()
    assert (lost["id"], lost["label"], lost["rs"]) == ("stray.png", None, None)
    assert lost["reason"] == "it has no label"


def test_nothing_readable_still_gives_every_input_its_row(tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "site" / name).mkdir(parents=True)
        (tmp_path / "site" / name / "page.jpg").write_bytes(b"<html>")
    file, _, fit = scored(tmp_path / "site", tmp_path / "cache")
    assert (file.table.num_rows, file.quarantined.num_rows) == (2, 2)
    assert fit.auc is None


def test_8_bit_16_bit_and_float_versions_of_one_image_score_alike(tmp_path):
    levels = grey()
    deep = levels.astype(np.uint16) * 257
    versions = {
        "a.png": encoded(levels),
        "b.png": png(deep, 16, 0),
        "c.tif": tiff(deep),
        "d.tif": tiff(deep.astype(np.float32)),
        "e.tif": tiff(deep, compression="zlib"),
        "f.bmp": encoded(levels, "BMP"),
    }
    for name in small.CLASSES:
        (tmp_path / "site" / name).mkdir(parents=True)
    for name, data in versions.items():
        (tmp_path / "site" / "cat" / name).write_bytes(data)
    rules = DecodingRules(window=(0.0, 65535.0))
    file, _, _ = scored(tmp_path / "site", tmp_path / "cache", rules=rules)
    assert file.quarantined.num_rows == 0
    for column in ("rs", "ds", "s_neg"):
        assert np.ptp(file.table[column].to_numpy()) <= 5e-3
    assert file.settings["decoding"]["window"] == [0.0, 65535.0]


def test_what_decoding_did_stands_in_the_row_and_is_not_forgotten_by_the_cache(tmp_path):
    folder = small.folder(tmp_path / "site", 2)
    levels = grey().astype(np.float32)
    levels[:2, :3] = np.nan
    (folder / "cat" / "holes.tif").write_bytes(tiff(levels))
    (folder / "dog" / "moving.tif").write_bytes(
        tiff(np.stack([grey()] * 3), photometric="minisblack")
    )
    rules = DecodingRules(window=(0.0, 255.0), project="max")
    file, _, _ = scored(folder, tmp_path / "cache", rules=rules)
    told = {row["id"]: row["reason"] for row in file.table.to_pylist() if row["reason"]}
    assert told == {
        "cat/holes.tif": "6 NaN or infinite samples filled with the median",
        "dog/moving.tif": "3 planes projected by max",
    }
    assert file.quarantined.num_rows == 0
    again, _, _ = scored(folder, tmp_path / "cache", rules=rules)
    other, _, _ = scored(folder, tmp_path / "cache", small.kit(model=small.tower(9)), rules)
    for table in (again.table, other.table):
        assert table["reason"].to_pylist() == file.table["reason"].to_pylist()


def test_the_fingerprint_follows_the_rules_and_the_prototypes_but_not_the_images(images, tmp_path):
    marks = {
        scored(images, tmp_path)[0].fingerprint,
        scored(images, tmp_path, rules=DecodingRules(min_side=9))[0].fingerprint,
        scored(images, tmp_path, small.kit(prototypes=small.prototypes(seed=8)))[0].fingerprint,
    }
    assert len(marks) == 3
    other = small.folder(tmp_path / "other", 2, seed=3)
    assert scored(other, tmp_path)[0].fingerprint in marks


def test_classes_come_from_a_list_else_the_source_else_its_labels(images):
    source = open_source(images)
    assert class_list(source, ["x", "y"]) == ("x", "y")
    assert class_list(source, None) == small.CLASSES
    unsaid = Counted(source)
    unsaid.classes = None
    assert class_list(unsaid, None) == small.CLASSES
    with pytest.raises(ScopeError, match="at least two classes"):
        class_list(source, ["only"])


def test_a_collection_without_classes_is_told_what_to_give(images):
    with pytest.raises(ScopeError, match="cat names no labels; put images into class folders"):
        class_list(open_source(images / "cat"), None)


def test_arrays_in_memory_are_known_by_their_pixels(tmp_path):
    rng = np.random.default_rng(0)
    dataset = [(rng.integers(0, 256, (30, 30, 3), np.uint8), name) for name in small.CLASSES * 2]
    first, _, _ = scored(open_source(dataset), tmp_path)
    shards = set(tmp_path.rglob("*.records"))
    second, _, _ = scored(open_source([(image.copy(), name) for image, name in dataset]), tmp_path)
    assert first.table.equals(second.table)
    assert set(tmp_path.rglob("*.records")) == shards
