"""Updates fit to be averaged: each of the others is named and costs only itself."""

import io

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import Array, ArrayRecord, MetricRecord
from flwr.serverapp.strategy import FedAvg

from scopefl.errors import RefusedError
from scopefl.federation.by_file import Rule
from scopefl.federation.flower import Scope
from tests.federation.flower.apps import SITES, app_of, expected_ids, run


def put_nan(content):
    if "arrays" in content:
        content["arrays"] = ArrayRecord([np.array([0.0, np.nan])])


def put_inf(content):
    if "arrays" in content:
        content["arrays"] = ArrayRecord([np.array([np.inf, 0.0])])


def other_keys(content):
    content["metrics"] = MetricRecord({"num-examples": 1, "surprise": 1.0})


def two_records(content):
    content["more"] = ArrayRecord([np.zeros(1)])


def negative_weight(content):
    content["metrics"]["num-examples"] = -1


def nan_weight(content):
    content["metrics"]["num-examples"] = float("nan")


def exception(content):
    raise ValueError("out of memory")


def other_shape(content):
    if "arrays" in content:
        content["arrays"] = ArrayRecord([np.zeros(3)])


def no_array(content):
    if "arrays" in content:
        good = content["arrays"]["0"]
        content["arrays"]["0"] = Array(good.dtype, good.shape, good.stype, b"\x80\x04.")


def of_a_terabyte(content):
    if "arrays" in content:
        good = content["arrays"]["0"]
        header = io.BytesIO()
        form = {"descr": "<f8", "fortran_order": False, "shape": (1 << 37,)}
        np.lib.format.write_array_header_1_0(header, form)
        content["arrays"]["0"] = Array(good.dtype, good.shape, good.stype, header.getvalue())


def cut_short(content):
    if "arrays" in content:
        good = content["arrays"]["0"]
        header = good.data.replace(b"}", b" ")
        content["arrays"]["0"] = Array(good.dtype, good.shape, good.stype, header)


def unlike_its_description(content):
    if "arrays" in content:
        content["arrays"]["0"] = Array("float64", (2,), "numpy.ndarray", Array(np.zeros(9)).data)


def list_for_number(content):
    content["metrics"]["loss" if "loss" in content["metrics"] else "accuracy"] = [1.0, 2.0]


SPOILED = {
    other_shape: "shapes unlike those of the other sites",
    no_array: "sent bytes that are no array in 0",
    of_a_terabyte: "sent bytes that are no array in 0",
    cut_short: "sent bytes that are no array in 0",
    unlike_its_description: "sent an array unlike its own description in 0",
    list_for_number: "unlike those of the other sites",
    put_nan: "sent NaN or infinity in 0",
    put_inf: "sent NaN or infinity in 0",
    other_keys: "unlike those of the other sites",
    two_records: "unlike those of the other sites",
    negative_weight: "sent num-examples = -1",
    nan_weight: "sent num-examples = nan",
    exception: "out of memory",
}


@pytest.mark.parametrize("spoil", SPOILED, ids=lambda spoil: spoil.__name__)
def test_an_unfit_update_is_named_and_costs_only_itself(federation, scored, spoil, caplog):
    files = {site: scored(seed) for seed, site in enumerate(SITES)}
    apps = {site: app_of(file, {}) for site, file in files.items()}
    apps["south"] = app_of(files["south"], {}, spoil=spoil)
    result = run(federation, apps, Scope(FedAvg(), expect=3))
    ids = expected_ids(files, Rule())
    kept = np.array([len(ids["north"]), len(ids["west"])], float)
    assert result.arrays.to_numpy_ndarrays()[0] == pytest.approx((kept**2).sum() / kept.sum())
    assert "training round 1 goes on without south: " in caplog.text
    assert SPOILED[spoil] in caplog.text


def test_a_silent_client_costs_at_most_the_deadline(federation, scored, caplog):
    def silent(message, context):
        reply = app_of(scored(1), {})(message, context)
        return reply if message.metadata.message_type == "query.scope" else None

    apps = {"north": app_of(scored(0), {}), "south": silent}
    run(federation, apps, Scope(FedAvg(), expect=2), timeout=1.0)
    assert "training round 1 goes on without south: no answer before the deadline" in caplog.text
    assert "evaluation round 1 goes on without south" in caplog.text


def test_a_round_without_any_fit_update_ends_with_its_cause(federation, scored):
    apps = {site: app_of(scored(i), {}, spoil=put_nan) for i, site in enumerate(SITES)}
    with pytest.raises(RefusedError, match="training round 1 must have a usable update"):
        run(federation, apps, Scope(FedAvg(), expect=3))


def test_of_two_sites_the_one_with_the_models_own_shape_is_right(federation, scored):
    for wrong in ("north", "south"):
        apps = {
            site: app_of(scored(i), {}, spoil=other_shape if site == wrong else lambda _: None)
            for i, site in enumerate(SITES[:2])
        }
        result = run(federation, apps, Scope(FedAvg(), expect=2))
        assert result.arrays.to_numpy_ndarrays()[0].shape == (2,)


def no_samples(content):
    content["metrics"]["num-examples"] = 0


def test_a_round_in_which_nobody_trained_on_any_sample_ends_with_its_cause(federation, scored):
    apps = {site: app_of(scored(i), {}, spoil=no_samples) for i, site in enumerate(SITES)}
    with pytest.raises(RefusedError, match="at least one site that trained on any sample"):
        run(federation, apps, Scope(FedAvg(), expect=3))


def test_a_site_without_samples_weighs_nothing(federation, scored):
    apps = {site: app_of(scored(i), {}) for i, site in enumerate(SITES)}
    apps["south"] = app_of(scored(1), {}, spoil=no_samples)
    result = run(federation, apps, Scope(FedAvg(), expect=3))
    ids = expected_ids({site: scored(i) for i, site in enumerate(SITES)}, Rule())
    kept = np.array([len(ids["north"]), len(ids["west"])], float)
    assert result.arrays.to_numpy_ndarrays()[0] == pytest.approx((kept**2).sum() / kept.sum())


def trees(size):
    def spoil(content):
        if "arrays" in content:
            content["arrays"] = ArrayRecord([np.full(size, 7, np.uint8)])

    return spoil


def test_trees_travel_as_bytes_of_any_number(federation, scored):
    merged = []

    class Bagging(FedAvg):
        def aggregate_train(self, server_round, replies):
            merged.extend(reply.content["arrays"]["0"].numpy().size for reply in replies)
            return None, None

    apps = {s: app_of(scored(i), {}, spoil=trees(i + 5)) for i, s in enumerate(SITES)}
    run(federation, apps, Scope(Bagging(), expect=3))
    assert sorted(merged) == [5, 6, 7]
