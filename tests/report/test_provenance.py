from dataclasses import replace
from typing import Any

from scopefl import __version__
from scopefl.federation.by_file import Rule
from scopefl.report.collection import Site
from scopefl.report.fitness import findings
from scopefl.report.provenance import commands, settings_of, versions


def test_the_command_of_the_paper_rule_gives_its_settings(played: Any):
    site = played(20, rule=Rule(p_l="0.2", p_f="0.7", beta=0.3)).sites[0]
    assert commands([site]) == [
        (
            "scope select 'site 0.parquet' --policy policy.scope --p-l 0.2 --p-f 0.7 --beta 0.3 "
            "-o site-0.parquet"
        )
    ]


def test_the_command_of_the_budget_rule_names_the_client(played: Any):
    site = played(20, rule=Rule(keep="0.4", run="7")).sites[0]
    assert commands([site]) == [
        (
            "scope select 'site 0.parquet' --policy policy.scope --p-l 0.1 --keep 0.4 --run 7 "
            "--client 'site 0' -o site-0.parquet"
        )
    ]


def test_a_site_s_own_limits_are_part_of_its_command(played: Any):
    coreset = played(20).sites[0].coreset
    limited = replace(coreset, settings={**coreset.settings, "smallest_class_kept": 3})
    assert " --limits site.toml " in commands([Site(limited)])[0]


def test_a_command_never_overwrites_what_it_reads(played: Any):
    site = replace(played(20).sites[0], name="north", file="north.parquet")
    assert commands([site])[0].startswith("scope select north-scores.parquet ")


def test_settings_that_differ_are_all_named(played: Any):
    coreset = played(20).sites[0].coreset
    other = replace(coreset, settings={**coreset.settings, "p_l": 0.3})
    rows = dict(settings_of([Site(coreset), Site(other)]))
    assert rows["p_l"] == "0.1 | 0.3"
    assert rows["rule"] == "paper"
    assert "client" not in rows


def test_the_versions_begin_with_ours():
    assert versions()[0] == ("scopefl", __version__)


def test_sites_with_one_finding_are_told_of_once():
    row = {"name": "a", "samples": 3, "auc": 0.9}
    good = {"fitness": {"verdict": "well", "sentence": "fine", "classes": [row]}}
    bad = {"fitness": {"verdict": "not at all", "sentence": "poor"}}
    found = findings({"x": good, "y": good, "z": bad, "w": {}})
    assert [(one.clients, one.fit, one.sentence) for one in found] == [
        ("x, y", True, "fine"),
        ("z", False, "poor"),
    ]
    assert found[0].rows[0] | row == found[0].rows[0]
    assert found[0].rows[0]["confused_with"] is None
    assert found[1].rows == []
