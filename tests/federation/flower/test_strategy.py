"""Any Flower strategy inside Scope: coresets while training, and updates fit to be averaged."""

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.clientapp.mod import LocalDpMod, fixedclipping_mod
from flwr.serverapp.strategy import (
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAdam,
    FedAvg,
    FedProx,
)

from scopefl.core.policy import agree
from scopefl.errors import RefusedError, ScopeError
from scopefl.federation.by_file import Rule, choose
from scopefl.federation.flower import Scope, ScopeClient

SITES = ("north", "south", "west")


def app_of(file, seen, mods=(), spoil=lambda content: None, site_forgets=False):
    """An app that reports how much it trains on, and notes which ids those are."""
    scope = ScopeClient(file)
    app = ClientApp(mods=[scope.mod])
    app.query("scope")(scope.answer)

    @app.train(mods=list(mods))
    def train(message, context):
        assert set(message.content) == {"arrays", "config"}
        kept = scope.coreset(context)
        seen.setdefault(context.node_config["site"], []).append(list(kept.ids))
        arrays = ArrayRecord([array + len(kept.rows) for array in sent(message)])
        metrics = MetricRecord({"num-examples": len(kept.rows), "loss": 1.0})
        content = RecordDict({"arrays": arrays, "metrics": metrics})
        spoil(content)
        if site_forgets:
            context.state.clear()
        return Message(content, reply_to=message)

    @app.evaluate()
    def evaluate(message, context):
        content = RecordDict({"metrics": MetricRecord({"num-examples": 10, "accuracy": 0.5})})
        spoil(content)
        return Message(content, reply_to=message)

    return app


def sent(message):
    return message.content["arrays"].to_numpy_ndarrays()


def expected_ids(files, rule, gamma=1.0):
    agreement = agree(
        [file.profile.to_bytes(file.fingerprint) for file in files.values()], gamma=gamma
    )
    return {
        name: list(file.ids[choose(file, agreement, rule, name).kept])
        for name, file in files.items()
    }


def run(federation, apps, strategy, rounds=1, timeout=20.0):
    grid = federation(apps, names=True).grid
    return strategy.start(grid, ArrayRecord([np.zeros(2)]), rounds, timeout)


def dp_server(inner):
    return DifferentialPrivacyServerSideFixedClipping(inner, 0.001, 10.0, 3)


def dp_client(inner):
    return DifferentialPrivacyClientSideFixedClipping(inner, 0.001, 10.0, 3)


STRATEGIES = {
    "FedAvg": (lambda: FedAvg(), ()),
    "FedProx": (lambda: FedProx(proximal_mu=0.1), ()),
    "FedAdam": (lambda: FedAdam(), ()),
    "central DP, clipped by the server": (lambda: dp_server(FedAvg()), ()),
    "central DP, clipped by the client": (lambda: dp_client(FedAvg()), (fixedclipping_mod,)),
    "local DP": (lambda: FedAvg(), (LocalDpMod(10.0, 0.01, 1.0, 1e-5),)),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_any_strategy_trains_on_the_coresets(federation, scored, name):
    inner, mods = STRATEGIES[name]
    files = {site: scored(seed) for seed, site in enumerate(SITES)}
    seen = {}
    apps = {site: app_of(file, seen, mods) for site, file in files.items()}
    result = run(federation, apps, Scope(inner(), expect=3), rounds=2)
    ids = expected_ids(files, Rule())
    assert seen == {site: [ids[site]] * 2 for site in SITES}
    assert result.coverage.sites == SITES
    assert result.agreement.sites == 3
    assert set(result.evaluate_metrics_clientapp) == {1, 2}
    assert np.isfinite(result.arrays.to_numpy_ndarrays()[0]).all()


@pytest.mark.parametrize(
    "rule",
    [
        Rule(p_l="0.2", p_f=0.3, beta=1.0),
        Rule(p_l="auto"),
        Rule(keep="0.4", run="seven"),
    ],
)
def test_the_rule_travels_with_the_order(federation, scored, rule):
    files = {site: scored(seed) for seed, site in enumerate(SITES)}
    seen = {}
    apps = {site: app_of(file, seen) for site, file in files.items()}
    run(federation, apps, Scope(FedAvg(), expect=SITES, rule=rule, gamma=0.5))
    ids = expected_ids(files, rule, gamma=0.5)
    assert seen == {site: [ids[site]] for site in SITES}


def test_a_client_that_lost_its_state_selects_the_same_again(federation, scored):
    seen = {}
    apps = {s: app_of(scored(i), seen, site_forgets=True) for i, s in enumerate(SITES)}
    run(federation, apps, Scope(FedAvg(), expect=3), rounds=2)
    assert all(first == second for first, second in seen.values())


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


SPOILED = {
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


def test_a_client_of_another_kit_refuses_to_train_without_telling_why_to_the_server(
    federation, scored, caplog
):
    apps = {site: app_of(scored(i), {}) for i, site in enumerate(SITES)}
    apps["west"] = app_of(scored(2, kit=b"kit-two!"), {})
    result = run(federation, apps, Scope(FedAvg(), expect=3, quorum=2))
    assert result.coverage.sites == ("north", "south")
    assert "without west: failed: the site refused (FingerprintError)" in caplog.text
    assert "the scores and the policy were made with different" in caplog.text


def test_training_without_an_agreement_is_refused(federation, scored):
    grid = federation({"north": app_of(scored(0), {})}).grid
    with pytest.raises(ScopeError, match="call start"):
        Scope(FedAvg(), expect=1).configure_train(1, ArrayRecord([]), ConfigRecord(), grid)


def test_a_coreset_without_an_order_is_refused(federation, scored):
    running = federation({"north": app_of(scored(0), {})})
    with pytest.raises(ScopeError, match=r"wrap the server's strategy in Scope"):
        ScopeClient(scored(0)).coreset(running.contexts["north"])


def test_a_malformed_order_is_refused(federation, scored):
    running = federation({"north": app_of(scored(0), {})})
    context = running.contexts["north"]
    context.state["scope"] = ConfigRecord({"policy": "text"})
    with pytest.raises(ScopeError, match="order to select is malformed"):
        ScopeClient(scored(0)).coreset(context)
