from dataclasses import replace
from typing import Any

import pytest

from scopefl.core.profile import Profile
from scopefl.errors import FingerprintError
from scopefl.report.ledger import received, sent


def test_the_fields_are_the_message_that_was_sent(played: Any):
    round_ = played(100)
    for site, file in zip(round_.sites, round_.files, strict=True):
        one = sent(site)
        assert one.message == file.profile.to_bytes(file.fingerprint)
        assert b"".join(field.bytes for field in one.fields) == one.message
        assert Profile.from_bytes(one.message) == file.profile
        assert one.fields[5].bytes == file.fingerprint


def test_small_classes_are_listed_first_and_counted_as_exposed(played: Any):
    round_ = played(30, clients=3)
    for site, file in zip(round_.sites, round_.files, strict=True):
        one = sent(site)
        count = file.profile.count
        assert [row.count for row in one.classes] == sorted(count[count > 0].tolist())
        small = count[(count > 0) & (count <= 3)]
        assert (one.exposed_classes, one.exposed_images) == (len(small), small.sum())
        assert [row.exact for row in one.classes] == [row.count <= 3 for row in one.classes]


def test_the_policy_names_classes_held_by_one_site(played: Any):
    round_ = played(12, clients=4)
    told = received(round_.agreement, round_.sites)
    sole = round_.agreement.holders == 1
    names = round_.sites[0].coreset.classes
    assert list(told.sole) == [name for name, one in zip(names, sole, strict=True) if one]
    assert told.size == len(round_.agreement.to_bytes())
    assert told.sites == 4


def test_a_policy_of_another_kit_is_refused(played: Any):
    round_ = played(20)
    other = replace(round_.agreement, fingerprint=bytes(8))
    with pytest.raises(FingerprintError):
        received(other, round_.sites)
