"""What a site sets for itself wins: its name, its limits, and where its coreset is written."""

import pytest

pytest.importorskip("flwr")

from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp.strategy import FedAvg

from scopefl.core.terms import Terms
from scopefl.data.coreset_file import read_coreset
from scopefl.data.scores_file import write_scores
from scopefl.errors import RefusedError
from scopefl.federation.by_file import Rule
from scopefl.federation.flower import Scope, ScopeClient
from scopefl.federation.flower.profile_round import profile_round


def trained(federation, scored, tmp_path, **settings):
    """Let one site with its own settings train in a federation of two; give its coreset."""
    path = tmp_path / "scores.parquet"
    write_scores(scored(0), path)
    kept = {}

    def app_of(scores):
        scope = ScopeClient(scores)
        app = ClientApp(mods=[scope.mod])
        app.query("scope")(scope.answer)

        @app.train()
        def train(message, context):
            kept[context.node_config["site"]] = scope.coreset(context)
            content = {"arrays": message.content["arrays"]}
            content["metrics"] = MetricRecord({"num-examples": 1})
            return Message(RecordDict(content), reply_to=message)

        return app

    running = federation({"north": app_of(lambda context: path), "south": app_of(scored(1))})
    running.contexts["north"].node_config.update(settings)
    strategy = Scope(FedAvg(fraction_evaluate=0.0), expect=2, rule=Rule(p_f=0.9, beta=1.0))
    strategy.start(running.grid, ArrayRecord([]), 1, 20.0)
    return kept["north"]


def test_the_site_writes_its_own_coreset_with_every_fate(federation, scored, tmp_path):
    out = tmp_path / "coreset.parquet"
    kept = trained(federation, scored, tmp_path, coreset=str(out))
    file = read_coreset(out)
    fates = file.table["fate"].to_pylist()
    ids = file.table["id"].to_pylist()
    assert [i for i, fate in zip(ids, fates, strict=True) if fate == "kept"] == list(kept.ids)
    assert file.settings["client"] == "north"
    assert file.settings["sites"] == 2
    assert 0 < file.fates["kept"] < len(ids)


def test_a_sites_limits_win_over_the_servers_wishes(federation, scored, tmp_path):
    site = tmp_path / "site.toml"
    site.write_text("[limits]\nlargest_prune_fraction = 0.25\n")
    wished = trained(federation, scored, tmp_path)
    kept = trained(federation, scored, tmp_path, limits=str(site))
    assert len(wished.rows) < 45
    assert len(kept.rows) == 45
    assert set(wished.ids) < set(kept.ids)
    assert (scored(0).labels[kept.rows] == kept.labels).all()


def test_a_broken_site_toml_stops_the_site_and_not_the_run(federation, scored, tmp_path, caplog):
    site = tmp_path / "site.toml"
    site.write_text("[limits]\nsmallest_clas_kept = 5\n")
    with pytest.raises(KeyError, match="north"):
        trained(federation, scored, tmp_path, limits=str(site))
    assert "did you mean 'smallest_class_kept'?" in caplog.text


def test_the_mode_of_the_sites_is_in_the_policy_over_flower(federation, scored):
    def app_of(scores):
        scope = ScopeClient(scores, Terms.of("min-cell"))
        app = ClientApp(mods=[scope.mod])
        app.query("scope")(scope.answer)
        return app

    running = federation({"north": app_of(scored(0)), "south": app_of(scored(1))})
    agreement, coverage = profile_round(running.grid, 2, timeout=20.0)
    assert agreement.terms.mode == "min-cell"
    assert coverage.sites == ("north", "south")


def test_sites_of_different_modes_are_not_mixed_over_flower(federation, scored):
    def app_of(scores, terms):
        scope = ScopeClient(scores, terms)
        app = ClientApp(mods=[scope.mod])
        app.query("scope")(scope.answer)
        return app

    clients = {
        "north": app_of(scored(0), Terms()),
        "south": app_of(scored(1), Terms.of("min-cell")),
    }
    with pytest.raises(RefusedError, match="all sites must share on the same terms"):
        profile_round(federation(clients).grid, 2, timeout=20.0)
