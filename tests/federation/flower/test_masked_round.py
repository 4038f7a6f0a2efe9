"""Masked modes over Flower: equal to open bit for bit, and sure of what a drop-out costs."""

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.clientapp import ClientApp

from scopefl.core.policy import agree
from scopefl.core.terms import Terms
from scopefl.errors import RefusedError
from scopefl.federation.flower import ScopeClient
from scopefl.federation.flower.profile_round import profile_round
from scopefl.federation.flower.records import RECORD
from scopefl.federation.site_keys import SiteKeys

NAMES = ("north", "south", "west", "east")
SECURE = Terms.of("secure-sum")


def app_of(file, terms=SECURE) -> ClientApp:
    scope = ScopeClient(file, terms)
    app = ClientApp(mods=[scope.mod])
    app.query("scope")(scope.answer)
    return app


def leaving(file):
    """An app that gives its key and then no more."""
    app = app_of(file)
    return lambda message, context: (
        None if message.content[RECORD]["roster"] else app(message, context)
    )


def keep_ledgers(running, folder, epsilon=None):
    for name, context in running.contexts.items():
        SiteKeys.new(folder / name, name, epsilon)
        context.node_config["keys"] = str(folder / name)


def test_asking_again_for_noise_ends_at_the_sites_limit(federation, scored, tmp_path):
    terms = Terms.of("local-dp", epsilon=1.0)
    apps = {name: app_of(scored(seed), terms) for seed, name in enumerate(NAMES[:2])}
    running = federation(apps)
    with pytest.raises(RefusedError, match="0 of 2 sites"):
        profile_round(running.grid, 2, timeout=8)
    keep_ledgers(running, tmp_path, epsilon=1.2)
    agreement, _ = profile_round(running.grid, 2, timeout=8)
    assert agreement.terms == terms
    with pytest.raises(RefusedError, match="0 of 2 sites"):
        profile_round(running.grid, 2, timeout=8)
    assert len(SiteKeys(tmp_path / "north").spent) == 1


@pytest.mark.parametrize("mode", ["secure-sum", "secure-sum+dp"])
def test_a_masked_round_over_flower(federation, scored, tmp_path, mode):
    files = {name: scored(seed) for seed, name in enumerate(NAMES)}
    terms = Terms.of(mode)
    running = federation({name: app_of(file, terms) for name, file in files.items()})
    keep_ledgers(running, tmp_path)
    agreement, coverage = profile_round(running.grid, 4, timeout=20, masked=True)
    assert str(coverage) == "4 of 4 sites"
    assert agreement.terms == terms
    if mode == "secure-sum":
        opened = agree([file.profile.to_bytes(file.fingerprint) for file in files.values()])
        assert agreement.profile == opened.profile
        assert np.array_equal(agreement.holders, opened.holders)


def test_a_site_that_drops_after_the_keys_costs_one_attempt(federation, scored):
    apps = {name: app_of(scored(seed)) for seed, name in enumerate(NAMES)}
    apps["east"] = leaving(scored(3))
    running = federation(apps, names=True)
    agreement, coverage = profile_round(running.grid, 4, quorum=3, timeout=8, masked=True)
    assert agreement.sites == 3
    assert str(coverage) == "3 of 4 sites (east: no answer within 2 s)"


def test_two_sites_left_are_too_few(federation, scored):
    apps = {name: app_of(scored(seed)) for seed, name in enumerate(NAMES[:3])}
    apps["west"] = leaving(scored(2))
    with pytest.raises(RefusedError, match="at least 3 sites, got 2"):
        profile_round(federation(apps).grid, 3, quorum=2, timeout=8, masked=True)


def test_a_site_never_shares_on_weaker_terms_than_its_own(federation, scored):
    apps = {name: app_of(scored(seed)) for seed, name in enumerate(NAMES)}
    with pytest.raises(RefusedError, match=r"0 of 4 sites .*the site refused \(RefusedError\)"):
        profile_round(federation(apps).grid, 4, timeout=8)


def test_a_site_s_mode_in_its_node_s_configuration_keeps_the_app_s_numbers(
    federation, scored, tmp_path
):
    terms = Terms.of("local-dp", epsilon=0.25)
    running = federation({name: app_of(scored(0), terms) for name in NAMES[:1]})
    keep_ledgers(running, tmp_path)
    running.contexts["north"].node_config["mode"] = "local-dp"
    agreement, _ = profile_round(running.grid, 1, timeout=8)
    assert agreement.terms == terms


@pytest.mark.parametrize("mode", ["local-dp", "secure-sum+dp"])
def test_tiles_of_a_specimen_are_capped_over_flower_too(federation, scored, tmp_path, mode):
    terms = Terms.of(mode, epsilon=1000.0, tiles=2)
    running = federation({name: app_of(scored(at), terms) for at, name in enumerate(NAMES)})
    keep_ledgers(running, tmp_path)
    with pytest.raises(RefusedError):  # nothing says which images are of one specimen
        profile_round(running.grid, 4, timeout=8, masked=terms.masked)
    for context in running.contexts.values():
        # Ids are 0-0 to 0-59: ten specimens by their last digit, of which two tiles count.
        context.node_config["specimen"] = "([0-9])$"
    agreement, _ = profile_round(running.grid, 4, timeout=20, masked=terms.masked)
    assert agreement.profile.count.sum() == pytest.approx(4 * 20, abs=12)
