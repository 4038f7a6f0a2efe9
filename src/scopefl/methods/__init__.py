"""Coreset methods by name, each with the same three verbs: summarize, agree, select."""

from scopefl.methods import fedcore, fedcs, herding, moderate, plain, scope, trained, zcore
from scopefl.methods.method import Budget, Client, Method, Trained, WarmUp

METHODS: dict[str, Method] = {
    "full": plain.FULL,
    "random": plain.RANDOM,
    "random-per-class": plain.RANDOM_PER_CLASS,
    "el2n": trained.EL2N,
    "grand": trained.GRAND,
    "forgetting": trained.FORGETTING,
    "herding": herding.HERDING,
    "herding-farthest": herding.FARTHEST,
    "moderate": moderate.MODERATE,
    "fedcs": fedcs.FEDCS,
    "fedcore": fedcore.FEDCORE,
    "zcore": zcore.ZCORE,
    "scope": scope.SCOPE,
    "scope-visual": scope.SCOPE_VISUAL,
    "scope-local-profile": scope.LOCAL_PROFILE,
    "scope-no-anomaly-filter": scope.NO_ANOMALY_FILTER,
    "scope-no-redundancy-filter": scope.NO_REDUNDANCY_FILTER,
    "budget": scope.BUDGET,
    "budget-visual": scope.BUDGET_VISUAL,
}

__all__ = ["Budget", "Client", "Method", "METHODS", "Trained", "WarmUp"]
