import json

import pytest

from scopefl.errors import ScopeError
from scopefl.experiment.measures import PERCENT
from scopefl.experiment.perform import choose, perform
from scopefl.experiment.settings import Division, Training
from scopefl.methods import METHODS


@pytest.mark.parametrize("method", METHODS)
def test_every_method_runs_to_a_result_that_json_can_hold(method, workshop, run):
    if method == "fedcore":
        pytest.importorskip("kmedoids")
    result = perform(run(method=method), workshop)
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert 0 < result["metrics"]["kept"] <= 1
    assert sum(sum(counts.values()) for counts in result["clients"]) == sum(
        sum(counts) for counts in result["classes"].values()
    )
    assert set(PERCENT) <= set(result["metrics"])


def test_the_same_run_gives_the_same_numbers(workshop, run):
    first, second = (perform(run(), workshop)["metrics"] for _ in range(2))
    assert first == second


def test_matched_methods_keep_what_the_reference_keeps_of_each_client(workshop, run):
    reference = choose(run(method="scope"), workshop).selections
    wanted = [int(s.kept.sum()) for s in reference]
    for method in ("random", "moderate", "zcore"):
        matched = choose(run(method=method, mode="matched"), workshop).selections
        assert [int(s.kept.sum()) for s in matched] == wanted


def test_matched_the_budget_rule_keeps_as_many_of_all_together(workshop, run):
    reference = choose(run(method="scope"), workshop).selections
    budget = choose(run(method="budget", mode="matched"), workshop).selections
    total = sum(int(s.kept.sum()) for s in reference)
    assert abs(sum(int(s.kept.sum()) for s in budget) - total) <= 4 * 4


def test_a_warm_up_is_charged_to_who_needs_it(workshop, run):
    cost = {m: choose(run(method=m), workshop).cost for m in ("random", "scope", "el2n", "fedcs")}
    assert cost["random"].flops == cost["random"].up == cost["scope"].flops == 0
    assert 0 < cost["scope"].up < cost["el2n"].up < cost["fedcs"].up
    assert cost["el2n"].flops > 0


def test_two_repeats_of_a_warm_up_cost_twice(workshop, run):
    once = choose(run(method="el2n"), workshop).cost
    twice = choose(run(method="el2n", warm_up_repeats=2), workshop).cost
    assert (twice.flops, twice.up) == (2 * once.flops, 2 * once.up)


def test_encoding_is_charged_to_who_looks_at_embeddings_or_trains_a_probe_on_them(workshop, run):
    images = len(workshop.scene(run()).labels)
    for method in ("scope", "zcore", "el2n"):
        assert choose(run(method=method), workshop).cost.seconds >= 0.001 * images


def test_visual_prototypes_send_class_means_first(workshop, run):
    text, visual = (choose(run(method=m), workshop).cost.up for m in ("budget", "budget-visual"))
    assert visual > text + 4 * 12 * 8


def test_a_class_missing_at_clients_and_clients_of_one_sample_are_served(collection, run):
    from dataclasses import replace

    from scopefl.experiment.perform import Workshop

    one = replace(run(), partition=Division(clients=12, alpha=0.05, imbalance_ratio=10.0))
    shop = Workshop()
    shop.once(one.data, lambda: collection)
    sizes = [len(rows) for rows in shop.scene(one).rows]
    assert min(sizes) <= 2
    assert perform(one, shop)["metrics"]["kept"] > 0


def test_a_loss_that_is_no_number_is_one_sentence(collection, run):
    from dataclasses import replace

    from scopefl.experiment.perform import Workshop

    wild = replace(run(), training=Training(features=0, rounds=30, lr=1e30, weight_decay=1.0))
    shop = Workshop()
    shop.once(wild.data, lambda: collection)
    with pytest.raises(ScopeError, match="NaN in round"):
        perform(wild, shop)
