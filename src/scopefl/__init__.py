"""SCOPE: federated coresets from a few integers per class."""

from scopefl.core.budget import select_budget
from scopefl.core.coreset import Selection, select, target_classes
from scopefl.core.policy import Agreement, Policy, agree, consensus
from scopefl.core.profile import Profile
from scopefl.core.scores import Scores, score
from scopefl.core.standard import anomaly, clipped_z, redundancy
from scopefl.errors import FingerprintError, RefusedError, ScopeError

__version__ = "0.1.0"

__all__ = [
    "agree",
    "Agreement",
    "anomaly",
    "clipped_z",
    "consensus",
    "FingerprintError",
    "Policy",
    "Profile",
    "redundancy",
    "RefusedError",
    "ScopeError",
    "score",
    "Scores",
    "select",
    "select_budget",
    "Selection",
    "target_classes",
]
