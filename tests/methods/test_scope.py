import numpy as np

from scopefl.core.budget import select_budget
from scopefl.core.coreset import select
from scopefl.core.policy import agree
from scopefl.core.profile import Profile
from scopefl.core.scores import Scores
from scopefl.methods import METHODS, Budget, Client


def clients():
    rng = np.random.default_rng(0)
    group = []
    for name, sizes in (("a", [30, 5, 2]), ("b", [3, 12, 9])):
        labels = np.repeat(np.arange(3), sizes)
        rs, s_neg = rng.uniform(-0.2, 0.9, (2, len(labels)))
        rival = (labels + rng.integers(1, 3, len(labels))) % 3
        scores = Scores(rs, np.sqrt(1 - rs**2), s_neg, rival)
        ids = np.arange(len(labels))
        group.append(Client.of(name, ids, labels, 3, scores, np.empty((len(labels), 0))))
    return group


def run(name, budget):
    method, group = METHODS[name], clients()
    agreed = method.agree([method.summarize(one) for one in group])
    return [method.select(one, agreed, budget) for one in group]


def same(a, b):
    return (a.kept == b.kept).all() and (a.anomalous == b.anomalous).all()


def agreement():
    return agree([Profile.of(c.scores, c.labels, 3).to_bytes() for c in clients()])


def test_scope_is_the_paper_rule_against_the_merged_profile():
    for one, got in zip(clients(), run("scope", Budget(p_l=0.2, p_f=0.7, beta=0.4)), strict=True):
        policy = agreement().policy
        assert same(got, select(one.scores, one.labels, policy, p_l=0.2, p_f=0.7, beta=0.4))


def test_budget_is_the_budget_rule_with_adaptive_anomalies():
    for one, got in zip(clients(), run("budget", Budget(keep=0.4, run="r")), strict=True):
        profile = agreement().profile
        want = select_budget(
            one.scores, one.labels, profile, keep=0.4, p_l="auto", run="r", client=one.name
        )
        assert same(got, want)


def test_without_keep_the_budget_rule_keeps_what_p_f_leaves():
    for a, b in zip(run("budget", Budget(p_f=0.9)), run("budget", Budget(keep=0.1)), strict=True):
        assert same(a, b)


def test_the_local_ablation_asks_nobody():
    method = METHODS["scope-local-profile"]
    one = clients()[0]
    alone = METHODS["scope"].agree([METHODS["scope"].summarize(one)])
    assert method.summarize(one) == b""
    assert same(method.select(one, b"", Budget()), METHODS["scope"].select(one, alone, Budget()))


def test_each_ablation_takes_its_filter_away():
    assert not any(s.anomalous.any() for s in run("scope-no-anomaly-filter", Budget(p_l=0.3)))
    assert not any(s.redundant.any() for s in run("scope-no-redundancy-filter", Budget(p_f=0.9)))
    assert all(s.anomalous.any() for s in run("scope-no-redundancy-filter", Budget(p_l=0.3)))
