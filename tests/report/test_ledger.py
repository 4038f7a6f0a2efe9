from dataclasses import replace
from typing import Any

import pytest

from scopefl.core.policy import Agreement, agree
from scopefl.core.profile import Profile
from scopefl.core.terms import Terms
from scopefl.errors import FingerprintError
from scopefl.federation.sharing import share
from scopefl.report.ledger import received, sent
from scopefl.report.page import report


def test_the_fields_are_the_message_that_was_sent(played: Any):
    round_ = played(100)
    for site, file in zip(round_.sites, round_.files, strict=True):
        one = sent(site)
        message = b"".join(field.bytes for field in one.fields)
        assert message == file.profile.to_bytes(file.fingerprint)
        assert one.size == len(message)
        assert Profile.from_bytes(message) == file.profile
        assert one.fields[5].bytes == file.fingerprint


def shared_on(round_: Any, terms: Terms) -> tuple[list[bytes], Agreement]:
    messages = [
        share(file.scores, file.labels, len(file.classes), terms, file.fingerprint)
        for file in round_.files
    ]
    return messages, agree(messages)


def test_the_message_is_the_one_that_held_small_classes_back(played: Any):
    round_ = played(60, clients=3)
    messages, agreement = shared_on(round_, Terms.of("min-cell"))
    for site, message in zip(round_.sites, messages, strict=True):
        one = sent(site, agreement)
        assert b"".join(field.bytes for field in one.fields) == message
        assert one.exposed_classes == 0
        assert min(row.count for row in one.classes) >= 5


def test_what_went_noisy_has_its_length_and_no_numbers(played: Any):
    round_ = played(60, clients=3)
    messages, agreement = shared_on(round_, Terms.of("local-dp"))
    for site, message in zip(round_.sites, messages, strict=True):
        one = sent(site, agreement)
        assert one.size == len(message)
        assert not one.fields
        assert not one.classes
    assert "noise stands between" in received(agreement, round_.sites).learned


def test_class_means_that_left_before_are_told_of(played: Any):
    round_ = played(60, clients=2, settings={"prototypes": "visual"})
    present = int((round_.files[0].profile.count > 0).sum())
    assert sent(round_.sites[0]).centroid_classes == present
    assert sent(played(20).sites[0]).centroid_classes == 0
    assert "And before that, class means" in report(round_.sites)


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
