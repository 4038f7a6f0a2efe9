import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scopefl.methods import METHODS, Budget
from scopefl.methods.method import shared_out


def test_full_keeps_all_whatever_the_budget(trained_client):
    one = trained_client([0, 1], [[0], [0]])
    assert METHODS["full"].select(one, b"", Budget(p_f=0.9)).kept.all()


def test_random_keeps_all_but_the_floor_of_the_rate(trained_client):
    one = trained_client([0] * 90, np.zeros(90))
    assert METHODS["random"].select(one, b"", Budget(p_f=0.7)).kept.sum() == 27


def test_random_draws_differ_by_seed_and_by_client(trained_client):
    from dataclasses import replace

    one = trained_client([0] * 40, np.zeros(40))
    draws = [
        METHODS["random"].select(c, b"", Budget(count=20)).kept
        for c in (one, replace(one, seed=1), replace(one, name="b"))
    ]
    assert not (draws[0] == draws[1]).all()
    assert not (draws[0] == draws[2]).all()


def test_random_per_class_keeps_every_class_in_proportion(trained_client):
    one = trained_client([0] * 30 + [1] * 10, np.zeros(40))
    kept = METHODS["random-per-class"].select(one, b"", Budget(count=12)).kept
    assert (kept[:30].sum(), kept[30:].sum()) == (9, 3)


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20), st.integers(0, 100))
def test_shares_add_up_and_never_exceed_their_group(sizes, percent):
    sizes = np.array(sizes)
    total = int(sizes.sum()) * percent // 100
    share = shared_out(total, sizes)
    assert share.sum() == total
    assert (share >= 0).all()
    assert (share <= sizes).all()
