"""A checkpoint notices what changed among its last rows, in words and in a file."""

import json

import numpy as np
import pytest

from scopefl.core.policy import consensus
from scopefl.stream.ledger import Row, profile_of
from scopefl.stream.noticing import notice, write_drift

CLASSES = ("ash", "beech", "cedar")


def rows(n, start=0, seed=0, shift=0.0):
    """Give rows whose RS is `shift` sigmas off in the second class."""
    rng = np.random.default_rng(seed)
    rs, s_neg = 0.3 + 0.03 * rng.standard_normal((2, n))
    return [
        Row(f"{k:06}", None, k % 3, b"k", float(r + 0.03 * shift * (k % 3 == 1)), float(s) - 0.1,
            (k + 1) % 3, 0.0, number=k + 1)
        for k, (r, s) in enumerate(zip(rs, s_neg, strict=True), start=start)
    ]  # fmt: skip


@pytest.fixture
def before():
    return rows(900)


def noticed(before, late, policy_of=None):
    against = None if policy_of is None else profile_of(policy_of, 3)
    policy = consensus(profile_of(before + late, 3) if against is None else against)
    return notice(before + late, len(before), policy, against, CLASSES)


def test_nothing_is_noticed_where_nothing_changed(before):
    _, alarms = noticed(before, rows(300, 900, seed=1))
    assert alarms == []


def test_a_shift_is_told_against_what_was_before_or_against_the_policy(before):
    late = rows(300, 900, seed=1, shift=-1.0)
    _, (alarm, *_) = noticed(before, late)
    assert (alarm.kind, alarm.label) == ("shift", 1)
    assert "sigmas below those before" in alarm.sentence
    _, (alarm, *_) = noticed(before, late, policy_of=before)
    assert "sigmas below the policy's" in alarm.sentence
    # Where the policy itself speaks of such images, this is no shift.
    found, _ = noticed(before, late, policy_of=rows(900, seed=2, shift=-1.0))
    assert not found.shifted.any()


def test_only_the_last_rows_are_recent(before):
    found, _ = noticed(before, rows(300, 900, seed=1))
    assert found.recent.profile.count.sum() == 300
    assert found.earlier.profile.count.sum() == 900


def test_the_file_holds_the_alarms_and_every_class(before, tmp_path):
    found, alarms = noticed(before, rows(300, 900, seed=1, shift=-1.0))
    write_drift(tmp_path / "drift.json", found, alarms, CLASSES)
    told = json.loads((tmp_path / "drift.json").read_text())
    assert told["alarms"][0]["kind"] == "shift"
    second = told["classes"][1]
    assert second["class"] == "beech"
    assert second["RS sigmas"] == pytest.approx(found.sigmas[0, 1])
    assert second["S_neg standard errors"] == pytest.approx(found.errors[1, 1])
    assert (second["recent"], second["earlier"]) == (100, 300)


def test_too_few_images_have_no_numbers(before, tmp_path):
    found, alarms = noticed(before, rows(30, 900))
    write_drift(tmp_path / "drift.json", found, alarms, CLASSES)
    told = json.loads((tmp_path / "drift.json").read_text())
    assert told["classes"][0]["RS sigmas"] is None
    assert told["auc"] == pytest.approx(0.5, abs=0.2)
