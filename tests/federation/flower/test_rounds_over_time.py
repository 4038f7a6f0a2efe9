"""Rounds over Flower that follow each other: sites join, grow and leave, merged stays pooled."""

import numpy as np
import pytest

pytest.importorskip("flwr")

from flwr.clientapp import ClientApp

from scopefl.core.profile import Profile
from scopefl.federation.flower import ScopeClient
from scopefl.federation.flower.profile_round import profile_round


class Growing:
    """A site whose scores file may be another at every round."""

    def __init__(self, file):
        self.file = file

    def __call__(self, message, context):
        scope = ScopeClient(self.file)
        app = ClientApp(mods=[scope.mod])
        app.query("scope")(scope.answer)
        return app(message, context)


def leave(running, name):
    (node,) = [node for node, known in running.nodes.items() if known == name]
    running.state.deactivate_node(node)
    del running.nodes[node]


def test_merged_is_pooled_at_every_version_whoever_is_connected(federation, scored):
    sites = {name: Growing(scored(seed)) for seed, name in enumerate(("north", "south"))}
    running, before = federation(sites), None
    for version, (name, seed) in enumerate(
        [(None, 0), ("north", 7), ("west", 8), ("south", None), ("east", 9)], start=1
    ):
        if seed is None:
            leave(running, name)
            del sites[name]
        elif name in sites:
            sites[name].file = scored(seed, n=90)
        elif name is not None:
            sites[name] = running.apps[name] = Growing(scored(seed, n=40))
            running.connect(name)
        agreement, coverage = profile_round(running.grid, expect=len(sites), timeout=20)
        before = agreement if before is None else agreement.after(before)
        scores = [site.file.scores for site in sites.values()]
        labels = np.concatenate([site.file.labels for site in sites.values()])
        pooled = Profile.of(type(scores[0]).concatenated(scores), labels, 4)
        assert (before.version, set(coverage.sites)) == (version, set(sites))
        assert before.profile == pooled
