"""The one robust merging that masked sums allow: the median of groups of sites, each summed apart.

Up to half of the groups may hold a bad site; a group shows its own total, so it has 3 sites.
"""

from collections.abc import Sequence

import numpy as np

from scopefl.core import robust
from scopefl.core.envelope import unseal
from scopefl.core.policy import EPS, RULES, Agreement, check_same_kit
from scopefl.core.terms import MIN_SITES, check_same_terms
from scopefl.errors import RefusedError


def is_policy(message: bytes) -> bool:
    """Say whether a message is a policy, as groups of sites send, and not a profile."""
    return message[2:3] == b"O"


def agree_groups(policies: Sequence[bytes], names: Sequence[str], gamma: float = 1.0) -> Agreement:
    """Merge the policies of groups that share no site; each counts as one member."""
    read = [Agreement.from_bytes(policy) for policy in policies]
    first = read[0]
    if len(read) < MIN_SITES or len({unseal(b"O", one) for one in policies}) < len(policies):
        raise RefusedError(
            f"a median needs at least {MIN_SITES} groups that are not the same, got {len(read)}: "
            "of two, neither is in the middle"
        )
    for one, name in zip(read, names, strict=True):
        check_same_kit(first.fingerprint, one.fingerprint, names[0], name)
        check_same_terms(first.terms, one.terms, names[0], name)
        if one.rule != RULES[0]:
            raise RefusedError(f"{name} is a {one.rule} already; give the groups' sums")
    return Agreement(
        robust.weighted_median([one.profile for one in read]),
        np.sum([one.holders for one in read], axis=0, dtype=np.int64),
        sum(one.sites for one in read),
        sum(one.expected for one in read),
        float(gamma),
        EPS,
        first.fingerprint,
        first.terms,
        RULES[2],
    )
