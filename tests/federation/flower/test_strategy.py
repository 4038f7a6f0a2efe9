"""Any Flower strategy inside Scope: it trains on coresets, at the sites that may take part."""

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, ConfigRecord
from flwr.clientapp.mod import LocalDpMod, fixedclipping_mod
from flwr.serverapp.strategy import (
    DifferentialPrivacyClientSideFixedClipping,
    DifferentialPrivacyServerSideFixedClipping,
    FedAdam,
    FedAvg,
    FedProx,
)

from scopefl.errors import RefusedError, ScopeError
from scopefl.federation.by_file import Rule
from scopefl.federation.flower import Scope, ScopeClient
from tests.federation.flower.apps import SITES, app_of, expected_ids, run


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


def test_a_site_that_was_refused_is_not_asked_to_train(federation, scored, caplog):
    seen = {}
    files = {"north": scored(0), "south": scored(1), "mars": scored(2)}
    files["west"] = scored(3, kit=b"kit-two!")
    apps = {site: app_of(file, seen) for site, file in files.items()}
    running = federation(apps)
    strategy = Scope(FedAvg(), expect=SITES, quorum=2)
    result = strategy.start(running.grid, ArrayRecord([np.zeros(2)]), 1, 20.0)
    assert result.coverage.sites == ("north", "south")
    assert set(seen) == {"north", "south"}
    assert len(result.coverage.refused) == 2


def test_a_registered_stranger_that_comes_later_is_not_asked_to_train(federation, scored):
    seen = {}
    apps = {site: app_of(scored(i), seen) for i, site in enumerate(SITES)}
    running = federation({site: apps[site] for site in SITES[:2]}, names=True)
    running.apps |= {"west": apps["west"], "mars": apps["west"]}

    class Later(FedAvg):
        def summary(self):  # called between the profile round and the first training round
            running.connect("west")
            running.connect("mars")

    strategy = Scope(Later(), expect=SITES, quorum=2, timeout=1.0)
    strategy.start(running.grid, ArrayRecord([np.zeros(2)]), 1, 20.0)
    assert set(seen) == set(SITES)


def test_a_strategy_does_not_wait_for_ever_for_sites_that_are_gone(federation, scored):
    running = federation({site: app_of(scored(i), {}) for i, site in enumerate(SITES)}, names=True)
    strategy = Scope(FedAvg(min_available_nodes=4), expect=3)
    with pytest.raises(RefusedError, match=r"more sites than are connected \(.*south.*for 1 s now"):
        strategy.start(running.grid, ArrayRecord([np.zeros(2)]), 1, 1.0)


def test_a_client_whose_kit_changed_refuses_to_train_without_telling_why_to_the_server(
    federation, scored, caplog
):
    apps = {site: app_of(scored(i), {}) for i, site in enumerate(SITES)}
    files = iter([scored(2), scored(2, kit=b"kit-two!")])
    apps["west"] = app_of(lambda context: next(files), {})
    result = run(federation, apps, Scope(FedAvg(fraction_evaluate=0.0), expect=3))
    assert result.coverage.sites == SITES
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
