"""SCOPE in anyone's Flower app: a client that answers and selects, a strategy that asks."""

from scopefl.federation.by_file import Rule
from scopefl.federation.flower.client import Coreset, ScopeClient
from scopefl.federation.flower.profile_round import Coverage
from scopefl.federation.flower.strategy import Scope, ScopeResult

__all__ = ["Coreset", "Coverage", "Rule", "Scope", "ScopeClient", "ScopeResult"]
