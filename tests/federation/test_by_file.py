import numpy as np
import pytest

from scopefl import (
    Profile,
    RefusedError,
    ScopeError,
    consensus,
    score,
    select,
    select_budget,
)
from scopefl.core.policy import Agreement
from scopefl.data.scores_file import ScoresFile
from scopefl.federation.by_file import Rule, coreset, merge, parse_expected
from tests.clouds import cloud

CLASSES = tuple("abcdefg")


@pytest.fixture
def sites(tmp_path):
    """Three sites' scores files, their profiles on disk, and all of it pooled."""
    images, prototypes, labels = cloud(900, len(CLASSES), seed=5)
    pooled = score(images, prototypes, labels)
    files, paths = [], []
    for k, name in enumerate(("north", "south", "west")):
        rows = np.arange(900) % 3 == k
        ids = [f"{name}/{i}" for i in np.flatnonzero(rows)]
        files.append(ScoresFile.of(pooled[rows], labels[rows], CLASSES, b"same kit", ids=ids))
        paths.append(tmp_path / f"{name}.profile")
        paths[-1].write_bytes(files[-1].profile.to_bytes(b"same kit"))
    return files, paths, pooled, labels


@pytest.mark.parametrize("rule", [Rule(), Rule(p_l="auto", p_f=0.9), Rule(keep=0.3, run="r")])
def test_the_round_by_file_equals_one_call_on_the_pooled_policy(sites, rule):
    files, paths, pooled, labels = sites
    agreement = Agreement.from_bytes(merge(paths, expected=3).to_bytes())
    profile = Profile.of(pooled, labels, len(CLASSES))
    for k, file in enumerate(files):
        rows = np.arange(900) % 3 == k
        client = f"site {k}"
        table = coreset(file, agreement, rule, client).table
        fate = np.array(table["fate"].to_pylist())
        by_file = {i for i, f in zip(table["id"].to_pylist(), fate, strict=True) if f == "kept"}
        arguments = {"ids": file.ids, "p_l": rule.p_l}
        if rule.keep is None:
            policy = consensus(profile)
            chosen = select(pooled[rows], labels[rows], policy, p_f=rule.p_f, **arguments)
        else:
            chosen = select_budget(
                pooled[rows],
                labels[rows],
                profile,
                keep=rule.keep,
                run="r",
                client=client,
                **arguments,
            )
        assert by_file == set(file.ids[chosen.kept].tolist())
        assert (fate == "anomalous").sum() == chosen.anomalous.sum()


def test_missing_strange_and_doubled_sites_are_named(sites):
    _, (north, south, west), _, _ = sites
    with pytest.raises(
        RefusedError, match=r"3 sites were expected and 2 profiles given \(north, so"
    ):
        merge([north, south], expected=3)
    with pytest.raises(RefusedError, match="missing: west; not expected: none"):
        merge([north, south], expected=["north", "south", "west"])
    with pytest.raises(RefusedError, match="missing: east; not expected: west"):
        merge([north, west], expected=["north", "east"])
    with pytest.raises(RefusedError, match="the same profile; leave one out"):
        merge([north, south, north])


def test_the_policy_says_how_many_sites_stand_behind_it(sites):
    _, paths, _, _ = sites
    agreement = merge(paths[:2])
    assert (agreement.sites, agreement.expected) == (2, 2)
    assert agreement.holders.tolist() == [2] * len(CLASSES)


def test_every_fate_comes_with_a_reason(sites):
    files, paths, _, _ = sites
    table = coreset(files[0], merge(paths), Rule(), "north").table
    for row in table.to_pylist():
        if row["fate"] == "anomalous":
            assert row["rival"] in row["why"]
            assert row["label"] in row["why"]
        if row["fate"] == "redundant":
            assert row["why"].startswith(f"{row['label']} is common at the sites")


def test_an_expectation_that_is_none_is_refused():
    with pytest.raises(ScopeError, match="a number or distinct names"):
        parse_expected("north,,south")
