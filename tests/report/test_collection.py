from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from scopefl.data.coreset_file import FATES
from scopefl.errors import FingerprintError, ScopeError
from scopefl.report.collection import Site, collect
from scopefl.report.draw import drawn
from scopefl.report.tally import Catch, Tally


def test_sites_are_joined_in_their_order(played: Any):
    sites = played(50).sites
    joined = collect(sites)
    labels = [label for site in sites for label in site.coreset.table["label"].to_pylist()]
    assert [joined.classes[c] for c in joined.label] == labels
    assert joined.clients == ("site 0", "site 1")
    assert joined.client.tolist() == sorted(joined.client.tolist())
    assert joined.embeddings.shape == (50, 16)


def test_scores_come_back_out_of_a_coreset_as_they_went_in(played: Any):
    round_ = played(50)
    for site, file in zip(round_.sites, round_.files, strict=True):
        back = site.coreset.scores_file
        assert back.table.equals(file.table)
        assert back.profile == file.profile


def test_coresets_of_two_kits_are_not_mixed(played: Any):
    one, other = played(20).sites[0], played(20, classes=("x", "y")).sites[0]
    with pytest.raises(FingerprintError, match="class lists"):
        collect([one, other])


def test_an_unknown_fate_is_refused(played: Any):
    coreset = played(20).sites[0].coreset
    table = coreset.table
    fates = pa.array(["lost"] * table.num_rows).dictionary_encode()
    broken = replace(coreset, table=table.set_column(9, "fate", fates))
    with pytest.raises(ScopeError, match="every fate must be one of kept, .*got 'lost'"):
        _ = broken.fate


def test_embeddings_and_truth_need_a_row_for_every_row(played: Any):
    site = played(20).sites[0]
    with pytest.raises(ScopeError, match="embeddings must have one row"):
        collect([replace(site, embeddings=np.ones((3, 2)))])
    with pytest.raises(ScopeError, match="true labels must have one entry"):
        collect([replace(site, truth=np.ones(3, int))])


def test_no_coreset_is_an_error():
    with pytest.raises(ScopeError, match="at least one coreset"):
        collect([])


def test_counts_agree_however_they_are_summed(played: Any):
    sites = played(300, clients=3).sites
    tally = Tally.of(collect(sites))
    for number, site in enumerate(sites):
        expected = [site.coreset.fates[fate] for fate in FATES[:3]]
        assert tally.by_client[number].tolist() == expected
    assert tally.by_class.sum(axis=0).tolist() == tally.by_client.sum(axis=0).tolist()
    assert tally.total.sum() == 300


def test_a_catch_counts_wrong_labels_by_fate(played: Any):
    joined = collect(played(300).sites)
    wrong = joined.truth != joined.label
    catch = Catch.of(joined)
    assert catch == Catch(
        wrong=int(wrong.sum()),
        caught=int((wrong & (joined.fate == 1)).sum()),
        kept=int((wrong & (joined.fate == 0)).sum()),
        anomalous=int((joined.fate == 1).sum()),
    )
    assert catch.caught > 0.5 * catch.wrong
    assert Catch.of(replace(joined, truth=np.full(300, -1))) is None


def test_every_group_is_drawn_by_its_share():
    groups = np.repeat([0, 1, 2], [9000, 990, 10])
    rows = drawn(groups, 1000)
    assert np.bincount(groups[rows]).tolist() == [900, 99, 1]
    assert (np.diff(rows) > 0).all()
    assert drawn(groups, 1000).tolist() == rows.tolist()


def test_the_smallest_group_is_never_left_out():
    rows = drawn(np.arange(5000) // 2, 100)
    assert len(rows) == 2500


def test_clients_without_a_name_go_by_their_file(played: Any):
    coreset = played(20).sites[0].coreset
    assert Site(coreset).client == "site 0"
    assert Site(replace(coreset, settings={}), file="a.parquet").client == "a.parquet"
    assert Site(replace(coreset, settings={})).client == "this site"


def test_embeddings_may_leave_out_what_was_quarantined(played: Any):
    site = played(20, clients=1).sites[0]
    table = site.coreset.table
    fates = ["quarantined", *table["fate"].to_pylist()[1:]]
    fates = pa.array(fates).dictionary_encode()
    coreset = replace(site.coreset, table=table.set_column(9, "fate", fates))
    every = collect([replace(site, coreset=coreset)])
    scored = collect([replace(site, coreset=coreset, embeddings=site.embeddings[1:])])
    assert np.array_equal(every.embeddings, scored.embeddings)
    assert len(every) == 19
    assert [row.id for row in every.quarantined] == ["00000.png"]
