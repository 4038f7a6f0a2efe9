"""Decoding rules are read from flags, checked at the border, and written canonically."""

import json

import pytest

from scopefl.data.rules import DecodingRules, parse_window
from scopefl.errors import ScopeError


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ("0,4095", (0.0, 4095.0)),
        (" -1.5, 2e3 ", (-1.5, 2000.0)),
        ("bits:12", (0.0, 4095.0)),
        ("bits:1", (0.0, 1.0)),
        ("bits:32", (0.0, 4294967295.0)),
        ("auto-percentile", "auto-percentile"),
    ],
)
def test_a_window_is_read_from_its_flag(text: str, window: object) -> None:
    assert parse_window(text) == window


@pytest.mark.parametrize(
    "flags",
    [
        {"window": "wide"},
        {"window": "1,2,3"},
        {"window": "5,5"},
        {"window": "9,1"},
        {"window": "nan,1"},
        {"window": "0,inf"},
        {"window": "bits:0"},
        {"window": "bits:33"},
        {"channels": "0,1"},
        {"channels": ""},
        {"channels": "a,,b"},
        {"project": "median"},
        {"project": "-1"},
        {"axes": "CY"},
        {"axes": "YXX"},
        {"axes": "QYX"},
        {"background": "red"},
        {"background": "256"},
        {"max_nan": 1.1},
        {"max_pixels": 0},
        {"max_pixels": 10**9},
        {"min_side": 0},
    ],
)
def test_a_rule_that_cannot_be_meant_is_refused(flags: dict[str, object]) -> None:
    with pytest.raises(ScopeError) as caught:
        DecodingRules.parse(**flags)  # type: ignore[arg-type]
    (name,) = flags
    assert name in str(caught.value)


def test_all_flags_together_give_the_rules_they_name() -> None:
    rules = DecodingRules.parse(
        window="bits:16", channels="2,DAPI,0", project="3", axes="zcyx", background="black",
        max_nan=0.5,
    )  # fmt: skip
    assert rules == DecodingRules(
        window=(0.0, 65535.0), channels=(2, "DAPI", 0), project=3, axes="ZCYX", background=0,
        max_nan=0.5,
    )  # fmt: skip


def test_the_canonical_form_is_json_and_tells_every_rule_apart() -> None:
    variants = [
        DecodingRules(),
        DecodingRules(window=(0.0, 1.0)),
        DecodingRules(window="auto-percentile"),
        DecodingRules(channels=(0,)),
        DecodingRules(channels=("0",)),
        DecodingRules(project="max"),
        DecodingRules(project=0),
        DecodingRules(axes="CYX"),
        DecodingRules(background=0),
        DecodingRules(max_nan=0.0),
        DecodingRules(max_pixels=1_000_000),
        DecodingRules(min_side=1),
    ]
    texts = {json.dumps(rules.canonical(), sort_keys=True) for rules in variants}
    assert len(texts) == len(variants)


def test_integers_and_floats_that_mean_the_same_window_are_written_alike() -> None:
    whole = json.dumps(DecodingRules(window=(0, 255), max_nan=0).canonical())
    assert whole == json.dumps(DecodingRules(window=(0.0, 255.0), max_nan=0.0).canonical())
