"""SCOPE as the paper has it, the budget rule, and what is left when a part is taken away."""

from collections.abc import Sequence
from dataclasses import replace

from scopefl.core.budget import select_budget
from scopefl.core.coreset import AUTO, Selection, select
from scopefl.core.order import exact
from scopefl.core.policy import Agreement, Policy, agree, consensus
from scopefl.core.profile import Profile
from scopefl.methods.method import Budget, Client, Method


def summarize(client: Client) -> bytes:
    """Send the client's profile."""
    return _profile(client).to_bytes(client.fingerprint)


def merge(messages: Sequence[bytes]) -> bytes:
    """Answer with the merged profile."""
    return agree(messages).to_bytes()


def by_paper(client: Client, agreed: bytes, budget: Budget) -> Selection:
    """Apply the paper's two stages against the global consensus."""
    return _select(client, Agreement.from_bytes(agreed).policy, budget)


def by_local_profile(client: Client, agreed: bytes, budget: Budget) -> Selection:  # noqa: ARG001
    """Apply the paper's two stages against the client's own statistics alone."""
    return _select(client, consensus(_profile(client)), budget)


def without_anomaly_filter(client: Client, agreed: bytes, budget: Budget) -> Selection:
    """Apply the paper's rule with p_l = 0."""
    return by_paper(client, agreed, replace(budget, p_l=0))


def without_redundancy_filter(client: Client, agreed: bytes, budget: Budget) -> Selection:
    """Apply the paper's rule with p_f = 0."""
    return by_paper(client, agreed, replace(budget, p_f=0))


def by_budget(client: Client, agreed: bytes, budget: Budget) -> Selection:
    """Keep the client's share of every class's quota, adaptive anomalies first to go."""
    keep = budget.keep if budget.keep is not None else str(1 - exact("p_f", budget.p_f))
    return select_budget(
        client.scores,
        client.labels,
        Agreement.from_bytes(agreed).profile,
        keep=keep,
        p_l=AUTO,
        ids=client.ids,
        run=budget.run,
        client=client.name,
    )


def _profile(client: Client) -> Profile:
    return Profile.of(client.scores, client.labels, client.n_classes)


def _select(client: Client, policy: Policy, budget: Budget) -> Selection:
    return select(
        client.scores,
        client.labels,
        policy,
        p_l=budget.p_l,
        p_f=budget.p_f,
        beta=budget.beta,
        ids=client.ids,
    )


SCOPE = Method(by_paper, summarize, merge, uses="scores", matches="nothing")
SCOPE_VISUAL = replace(SCOPE, uses="visual scores")
LOCAL_PROFILE = Method(by_local_profile, uses="scores", matches="nothing")
NO_ANOMALY_FILTER = replace(SCOPE, select=without_anomaly_filter)
NO_REDUNDANCY_FILTER = replace(SCOPE, select=without_redundancy_filter)
BUDGET = Method(by_budget, summarize, merge, uses="scores", matches="all")
BUDGET_VISUAL = replace(BUDGET, uses="visual scores")
