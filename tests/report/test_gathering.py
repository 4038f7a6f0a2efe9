"""A coreset on disk is counted as one in memory is, and shown by a choice of its rows."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scopefl.data import batches
from scopefl.data.batches import CoresetTable
from scopefl.data.coreset_file import write_coreset
from scopefl.errors import ScopeError
from scopefl.report import gathering
from scopefl.report.collection import Site
from scopefl.report.gallery import galleries
from scopefl.report.gathering import gather
from scopefl.report.inputs import read_sites
from scopefl.report.ledger import sent
from scopefl.report.page import report


@pytest.fixture
def both(played: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Any, Any]:
    """Give two sites in memory, and the same on disk."""
    monkeypatch.setattr(batches, "BATCH", 61)
    monkeypatch.setattr(gathering, "MOST_DRAWN", 50)
    rng = np.random.default_rng(0)
    memory, disk = [], []
    for number, site in enumerate(played(1500, clients=2).sites):
        rows = site.coreset.rows
        fate = site.coreset.table["fate"].to_pylist()
        fate[3::40] = ["quarantined"] * len(fate[3::40])
        table = site.coreset.table.set_column(9, "fate", [fate])
        coreset = replace(site.coreset, table=table)
        truth = rng.integers(-1, 4, rows)
        embeddings = rng.standard_normal((rows, 5)).astype(np.float32)
        memory.append(replace(site, coreset=coreset, truth=truth, embeddings=embeddings))
        write_coreset(coreset, tmp_path / f"{number}.parquet")
        table_on_disk = CoresetTable.open(tmp_path / f"{number}.parquet")
        disk.append(replace(memory[-1], coreset=table_on_disk))
    return memory, disk


def test_every_count_is_exact(both: tuple[list[Site], list[Site]]):
    memory, disk = (gather(sites) for sites in both)
    assert np.array_equal(disk.tally.by_class, memory.tally.by_class)
    assert np.array_equal(disk.tally.by_client, memory.tally.by_client)
    assert disk.catch == memory.catch
    assert disk.catch is not None
    assert disk.quarantined == memory.quarantined == 38
    for one, other in zip(*both, strict=True):
        assert sent(one) == sent(other)
        assert one.coreset.profile == other.coreset.profile


def test_galleries_show_the_very_images(both: tuple[list[Site], list[Site]]):
    shown = []
    for sites in both:
        collection = gather(sites).collection
        worst, typical, _ = galleries(collection)
        shown.append([collection.id[card.row] for one in (worst, typical) for card in one.cards])
    assert shown[0] == shown[1]
    assert len(shown[0]) >= 30


def test_few_rows_are_held_and_the_drawn_ones_stand_for_all(both: tuple[list[Site], list[Site]]):
    memory, disk = (gather(sites) for sites in both)
    assert len(disk.collection) < len(memory.collection) / 3
    drawn = disk.to_draw(50)
    cells = {(disk.collection.label[row], disk.collection.fate[row]) for row in drawn}
    assert len(cells) == (memory.tally.by_class > 0).sum()
    assert 50 <= len(disk.sample) <= 50 + len(cells)
    kept = (disk.collection.fate[disk.sample[:50]] == 0).mean()
    assert abs(kept - memory.tally.total[0] / memory.tally.total.sum()) < 0.2


def test_rows_keep_their_own_embedding(both: tuple[list[Site], list[Site]]):
    memory, disk = both
    for shorter in (False, True):
        sites = disk
        if shorter:
            scored = [site.coreset.batches() for site in memory]
            sites = [
                replace(site, embeddings=site.embeddings[next(part).fate < 3])
                for site, part in zip(disk, scored, strict=True)
            ]
        found = gather(sites).collection
        assert found.embeddings is not None
        for row in range(0, len(found), 17):
            expected = memory[found.client[row]].embeddings[found.row[row]]
            assert np.array_equal(found.embeddings[row], expected)


def test_the_page_says_how_many_are_drawn(both: tuple[list[Site], list[Site]]):
    _, disk = both
    page = report([replace(site, embeddings=None) for site in disk])
    drawn = len(gather(disk).sample)
    assert f"Drawn: {drawn} of 1,462" in page
    assert "38 inputs could not be scored" in page
    assert "that were looked at; no embeddings were given" in page


def test_so_many_rows_are_not_embedded_again(both: tuple[list[Site], list[Site]], monkeypatch: Any):
    monkeypatch.setattr(batches, "LARGE", 0)
    path = both[1][0].coreset.path
    with pytest.raises(ScopeError, match="too many to embed again for a map; give .* --embeddings"):
        read_sites([path], images=[path.parent], kit="offline")
