import math

import pytest

from scopefl.errors import ScopeError
from scopefl.train.plan import Plan, Purpose


def test_the_learning_rate_falls_along_half_a_cosine():
    plan = Plan(rounds=4, lr=2.0)
    expected = [1 + math.cos(math.pi * t / 4) for t in range(4)]
    assert [plan.lr_at(number) for number in range(1, 5)] == pytest.approx(expected)


def test_a_constant_learning_rate_stays():
    plan = Plan(rounds=4, lr=2.0, lr_schedule="constant")
    assert {plan.lr_at(number) for number in range(1, 5)} == {2.0}


def test_streams_of_different_purpose_place_and_seed_differ_and_repeat():
    streams = [
        (seed, purpose, place) for seed in (0, 1) for purpose in Purpose for place in ((), (1, 2))
    ]
    drawn = [Plan(1, seed=s).rng(purpose, *place).random() for s, purpose, place in streams]
    again = [Plan(1, seed=s).rng(purpose, *place).random() for s, purpose, place in streams]
    assert drawn == again
    assert len(set(drawn)) == len(streams)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rounds", 0),
        ("local_epochs", 0),
        ("batch_size", 0),
        ("lr", 0.0),
        ("lr", math.nan),
        ("lr", math.inf),
        ("momentum", 1.0),
        ("weight_decay", -1.0),
        ("weight_decay", math.nan),
        ("fraction", 0.0),
        ("fraction", 1.5),
        ("seed", -1),
        ("lr_schedule", "linear"),
    ],
)
def test_a_setting_that_cannot_be_run_is_named(name, value):
    with pytest.raises(ScopeError, match=name):
        Plan(**{"rounds": 1, name: value})
