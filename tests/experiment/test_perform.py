import json
from dataclasses import replace

import numpy as np
import pytest

from scopefl.errors import ScopeError
from scopefl.experiment.learning import pretrained_weights
from scopefl.experiment.perform import Workshop, choose, perform, warming
from scopefl.experiment.settings import Division, Training
from scopefl.experiment.shown import COSTS, MESSAGES, METRICS
from scopefl.methods import METHODS
from scopefl.train.probe import Probe


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
    assert set(result["metrics"]) == set(METRICS)
    costs = {f"{of}_{name}" for of in ("choosing", "training") for name in result[of]}
    assert costs == {*COSTS, MESSAGES}


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
    assert cost["random"].flops == cost["random"].up == 0
    assert cost["scope"].flops == 100 * len(workshop.scene(run()).labels) < cost["el2n"].flops
    assert 0 < cost["scope"].up < cost["el2n"].up < cost["fedcs"].up
    assert cost["el2n"].flops > 0


def test_two_repeats_of_a_warm_up_cost_twice(workshop, run):
    once = choose(run(method="el2n"), workshop).cost
    twice = choose(run(method="el2n", warm_up_repeats=2), workshop).cost
    embedded = 100 * len(workshop.scene(run()).labels)
    assert (twice.flops, twice.up) == (2 * once.flops - embedded, 2 * once.up)


def test_encoding_is_charged_to_who_looks_at_embeddings_or_trains_a_probe_on_them(workshop, run):
    images = len(workshop.scene(run()).labels)
    for method in ("scope", "zcore", "el2n"):
        assert choose(run(method=method), workshop).cost.seconds >= 0.001 * images


def test_visual_prototypes_send_class_means_first(workshop, run):
    text, visual = (choose(run(method=m), workshop).cost.up for m in ("budget", "budget-visual"))
    assert visual > text + 4 * 12 * 8


def test_a_class_missing_at_clients_and_clients_of_one_sample_are_served(collection, run):
    one = replace(run(), partition=Division(clients=12, alpha=0.05, imbalance_ratio=10.0))
    shop = Workshop()
    shop.once(one.data, lambda: collection)
    sizes = [len(rows) for rows in shop.scene(one).rows]
    assert min(sizes) <= 2
    assert perform(one, shop)["metrics"]["kept"] > 0


def test_a_loss_that_is_no_number_is_one_sentence(collection, run):
    wild = replace(run(), training=Training(features=0, rounds=30, lr=1e30, weight_decay=1.0))
    shop = Workshop()
    shop.once(wild.data, lambda: collection)
    with pytest.raises(ScopeError, match="NaN in round"):
        perform(wild, shop)


def test_the_medoids_of_fedcore_count_for_all_they_stand_for(workshop, run):
    pytest.importorskip("kmedoids")
    chosen = choose(run(method="fedcore"), workshop)
    scene = workshop.scene(run())
    for rows, selection, weight in zip(scene.rows, chosen.selections, chosen.weights, strict=True):
        stood_for = np.isin(scene.labels[rows], scene.labels[rows[selection.kept]])
        assert len(weight) == selection.kept.sum()
        assert weight.sum() == stood_for.sum()


class KilledError(Exception):
    pass


class Mortal(Probe):
    """A probe that counts how often it trains, and is killed when told to be."""

    def train(self, *args):
        life["trained"] += 1
        if life["trained"] == life["until"]:
            raise KilledError
        return super().train(*args)


life = {"trained": 0, "until": 0}


@pytest.mark.parametrize("until", [5, 47, 90])
def test_a_run_killed_at_any_round_goes_on_to_the_same_numbers(until, workshop, run, tmp_path):
    long = replace(run(method="random"), training=Training(features=0, rounds=25))
    subject = workshop.subject(long)
    subject.learner = Mortal(12, 4)
    life.update(trained=0, until=0)
    whole = perform(long, workshop)
    steps = life["trained"]
    checkpoint = tmp_path / "run.npz"
    life.update(trained=0, until=until)
    with pytest.raises(KilledError):
        perform(long, workshop, checkpoint)
    life.update(trained=0, until=0)
    again = perform(long, workshop, checkpoint)
    assert (again["metrics"], again["curve"]) == (whole["metrics"], whole["curve"])
    assert life["trained"] == steps - 4 * 10 * ((until - 1) // 40)


@pytest.mark.nightly
def test_flower_as_the_runner_gives_the_same_numbers(workshop, run):
    pytest.importorskip("ray")
    here = run(method="scope")
    there = replace(here, training=replace(here.training, runner="flower"))
    results = [perform(each, workshop) for each in (here, there)]
    assert results[0]["metrics"] == results[1]["metrics"]
    assert results[0]["curve"] == results[1]["curve"]


def test_a_runner_nobody_knows_is_one_sentence(workshop, run):
    odd = replace(run(), training=replace(run().training, runner="flow"))
    with pytest.raises(ScopeError, match="did you mean 'flower'"):
        perform(odd, workshop)


def test_partitions_that_were_drawn_again_are_counted(workshop, run):
    needy = replace(run(), partition=Division(clients=4, alpha=0.3, min_size=20))
    counts = [
        perform(replace(needy, seed=s), workshop)["metrics"]["partition_retries"] for s in range(4)
    ]
    assert max(counts) > 0


def test_a_warm_up_of_another_model_chooses_for_the_one_that_is_trained(workshop, run):
    other = replace(run(method="el2n"), training=replace(run().training, model="cnn"))
    chooser = replace(other, pruning=replace(other.pruning, warm_up_model="probe"))
    assert warming(chooser) == run().training
    assert warming(other).model == "cnn"
    by_probe = choose(run(method="el2n"), workshop).selections
    for one, two in zip(choose(chooser, workshop).selections, by_probe, strict=True):
        assert (one.kept == two.kept).all()


def test_only_who_watches_the_model_pays_for_looking(workshop, run):
    forgetting, el2n = (METHODS[name].warm_up for name in ("forgetting", "el2n"))
    subject = workshop.subject(run())
    n, forward = len(subject.train), subject.learner.forward_flops()
    for how, looks in ((forgetting, 21), (el2n, 1)):
        steps = how.rounds * how.epochs * n * subject.learner.train_flops()
        assert subject.warm_up(how, 0)[1].flops == steps + looks * n * forward


def test_weights_are_those_named_or_the_models_own_in_a_folder(tmp_path):
    (tmp_path / "all").mkdir()
    one = Training(model="resnet18", pretrained=str(tmp_path / "one.safetensors"))
    assert pretrained_weights(one) == tmp_path / "one.safetensors"
    folder = replace(one, pretrained=str(tmp_path / "all"))
    assert pretrained_weights(folder) == tmp_path / "all" / "resnet18.safetensors"
    assert pretrained_weights(Training()) is None


def test_trends_and_what_became_worse_are_told(workshop, run):
    found = perform(replace(run(), training=Training(features=0, rounds=20)), workshop)["metrics"]
    for name in ("head", "tail", "accuracy"):
        assert -1 <= found[f"{name}_trend"] <= 1
    last = found["head"]
    assert found["head_trend"] == pytest.approx(last - found["head_half"])
    assert found["gamma_worse"] == (found["gamma_after"] > found["gamma_before"])
    assert 0 <= found["bias_worse"] <= 1
    full = perform(run(method="full"), workshop)["metrics"]
    assert full["wasserstein_worse"] == full["bias_worse"] == full["gamma_worse"] == 0


@pytest.mark.parametrize("method", ["full", "random", "el2n", "fedcs", "scope", "budget-visual"])
def test_clients_left_empty_are_passed_over(method, collection, run):
    sparse = Division(clients=30, alpha=0.01, imbalance_ratio=4.0, noise=0.1, min_size=0)
    one = replace(run(method=method), partition=sparse)
    shop = Workshop()
    shop.once(one.data, lambda: collection)
    assert min(len(rows) for rows in shop.scene(one).rows) == 0
    assert perform(one, shop)["metrics"]["accuracy"] > 0
