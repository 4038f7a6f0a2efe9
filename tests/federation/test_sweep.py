from dataclasses import replace

import numpy as np
import pytest

from scopefl.core.balance import imbalance_ratio
from scopefl.core.fingerprint import fingerprint
from scopefl.core.policy import agree
from scopefl.core.scores import score
from scopefl.data import batches
from scopefl.data.scores_file import ScoresFile, write_scores
from scopefl.errors import ScopeError
from scopefl.federation.by_file import Rule, choose
from scopefl.federation.sweep import settings, sweep

C = 5


@pytest.fixture(scope="module")
def site():
    rng = np.random.default_rng(1)
    prototypes = rng.standard_normal((C, 12))
    truth = rng.choice(C, size=500, p=[0.5, 0.2, 0.15, 0.1, 0.05])
    v_img = prototypes[truth] + 0.8 * rng.standard_normal((500, 12))
    v_img, prototypes = (x / np.linalg.norm(x, axis=1, keepdims=True) for x in (v_img, prototypes))
    labels = np.where(rng.random(500) < 0.1, (truth + 1) % C, truth)
    names = tuple("abcde")
    file = ScoresFile.of(
        score(np.float32(v_img), np.float32(prototypes), labels),
        labels,
        names,
        fingerprint(names, {}),
    )
    return file, agree([file.profile.to_bytes(file.fingerprint)]), truth


def test_every_outcome_is_what_select_says(site):
    file, agreement, truth = site
    tried = settings(p_l=("0", "0.1", "auto"), p_f=("0.3", "0.5"), beta=(0.2,), gamma=(0.5, 1.0))
    outcomes = list(sweep(file, agreement, tried, truth=truth, client="s"))
    assert len(outcomes) == 12
    for setting, outcome in zip(tried, outcomes, strict=True):
        assert outcome.setting == setting
        chosen = choose(file, replace(agreement, gamma=setting.gamma), setting.rule, "s")
        wrong = truth != file.labels
        assert (outcome.kept, outcome.anomalous, outcome.redundant) == (
            chosen.kept.sum(),
            chosen.anomalous.sum(),
            chosen.redundant.sum(),
        )
        assert (outcome.wrong, outcome.caught, outcome.wrong_kept) == (
            wrong.sum(),
            (wrong & chosen.anomalous).sum(),
            (wrong & chosen.kept).sum(),
        )
        left = np.bincount(file.labels[chosen.kept], minlength=C)
        assert outcome.imbalance == left.max() / left.min()


def test_gamma_changes_which_classes_are_targets(site):
    file, agreement, _ = site
    kept = [one.kept for one in sweep(file, agreement, settings(gamma=(0.0, 3.0), beta=(0.9,)))]
    assert kept[0] != kept[1]


def test_keep_means_the_budget_rule(site):
    file, agreement, _ = site
    tried = settings(keep=("0.1", "0.5"), p_l=("0.1",))
    assert [one.rule for one in tried] == [Rule(p_l="0.1", keep="0.1"), Rule(p_l="0.1", keep="0.5")]
    rows = [one.row for one in sweep(file, agreement, tried, client="s")]
    assert [row["keep"] for row in rows] == ["0.1", "0.5"]
    assert rows[0]["kept fraction"] == pytest.approx(0.1, abs=0.02)
    assert "caught" not in rows[0]
    assert "gamma" not in rows[0]


def test_a_table_on_disk_is_swept_like_one_in_memory(site, tmp_path, monkeypatch):
    file, agreement, truth = site
    some = np.arange(500) % 7 != 3
    names = [file.classes[label] for label in file.labels]
    whole = replace(file, table=file.table.filter(some)).among(
        some,
        ids=file.table["id"].to_pylist(),
        paths=[""] * 500,
        labels=names,
        reasons=[None if one else "broken" for one in some],
    )
    write_scores(whole, tmp_path / "s.parquet")
    truth = np.where(np.arange(500) % 5, truth, -1)
    tried = settings(p_l=("0.1", "auto"), p_f=("0.3",), gamma=(0.5, 1.0))
    tried += settings(keep=("0.3",), p_l=("0.1",))
    expected = list(sweep(whole, agreement, tried, truth=truth, client="s"))
    monkeypatch.setattr(batches, "BATCH", 41)
    table = batches.ScoresTable.open(tmp_path / "s.parquet")
    assert list(sweep(table, agreement, tried, truth=truth, client="s")) == expected


def test_an_emptied_class_has_no_ratio():
    assert imbalance_ratio(np.array([5, 0]), np.array([True, True])) == np.inf
    assert imbalance_ratio(np.array([0, 0]), np.array([False, False])) == 1.0


def test_truth_of_another_length_is_refused(site):
    file, agreement, truth = site
    with pytest.raises(ScopeError, match="one entry a row, 500, got 3"):
        next(sweep(file, agreement, settings(), truth=truth[:3]))


def test_a_sweep_has_a_limit():
    with pytest.raises(ScopeError, match="at most 10000 settings"):
        settings(p_l=range(101), p_f=range(100))
