"""The global consensus Omega: what every client is told about every class."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scopefl.core.envelope import Body, seal, unseal, varint
from scopefl.core.merging import merged
from scopefl.core.profile import MAX_COUNT, Profile
from scopefl.core.release import Release
from scopefl.core.terms import MIN_SITES, OPEN, Terms, check_same_terms
from scopefl.errors import FingerprintError, ScopeError

EPS = 1e-12
MAX_SITES = 1 << 20
RULES = ("sum", "median", "median of groups")


@dataclass(frozen=True)
class Policy:
    """Omega: rarity weight W_c (C,), mean and sigma of RS, DS, S_neg (3, C); absent classes 0."""

    weight: NDArray[np.float64]
    mean: NDArray[np.float64]
    sigma: NDArray[np.float64]


def consensus(profile: Profile, gamma: float = 1.0, eps: float = EPS) -> Policy:
    """Weigh the classes of the merged profile by rarity, (1 / (F_c + eps))^gamma, mean 1.

    >>> profile = Profile(np.array([3, 1]), np.zeros((3, 2), int), np.zeros((3, 2), int))
    >>> consensus(profile).weight
    array([0.5, 1.5])
    """
    if not (np.isfinite(gamma) and gamma >= 0):
        raise ScopeError(f"gamma must be a number of at least 0, got {gamma}")
    present = profile.count > 0
    weight = np.zeros(profile.n_classes)
    if present.any():
        frequency = profile.count[present] / profile.count.sum()
        rarity = (1.0 / (frequency + eps)) ** gamma
        weight[present] = rarity / rarity.mean()
    return Policy(weight, profile.mean, profile.sigma)


@dataclass(frozen=True)
class Agreement:
    """What the coordinator sends back: the merged profile, its exponent, and who stands behind it.

    `holders` (C,) counts the sites that hold each class, 0 where noise hides it; `sites` of
    `expected` sites were merged, all on the same `terms`; `rule` says how ("sum" if nothing else).
    Rounds that follow each other number their policies by `version`.
    """

    profile: Profile
    holders: NDArray[np.int64]
    sites: int
    expected: int
    gamma: float = 1.0
    eps: float = EPS
    fingerprint: bytes = b""
    terms: Terms = OPEN
    rule: str = RULES[0]
    version: int = 1

    @property
    def policy(self) -> Policy:
        """Give Omega."""
        return consensus(self.profile, self.gamma, self.eps)

    def after(self, before: "Agreement") -> "Agreement":
        """Give this as the version that follows another; sites may have joined or left since."""
        check_same_kit(self.fingerprint, before.fingerprint, "this policy", "the one before it")
        return replace(self, version=before.version + 1)

    def to_bytes(self) -> bytes:
        """Encode for the sites."""
        numbers = np.array([self.gamma, self.eps], "<f8").tobytes()
        head = self.terms.to_body() + varint(RULES.index(self.rule)) + numbers
        head += varint(self.sites) + varint(self.expected) + varint(self.version)
        held = self.holders[self.profile.count > 0]
        body = self.profile.to_body(self.fingerprint)
        return seal(b"O", head + varint(len(body)) + body + b"".join(map(varint, held.tolist())))

    @classmethod
    def from_bytes(cls, data: bytes, max_count: int = MAX_COUNT) -> "Agreement":
        """Decode what `to_bytes` wrote; refuse what no merging can give."""
        fields = Body(unseal(b"O", data))
        terms, rule = Terms.from_body(fields), RULES[fields.varint(len(RULES) - 1)]
        gamma, eps = np.frombuffer(fields.take(16), "<f8").tolist()
        if not (0 <= gamma < np.inf and 0 <= eps < 1):
            raise ScopeError(f"this policy has gamma {gamma} and eps {eps}; merge again")
        sites, expected, version = (fields.varint(MAX_SITES) for _ in range(3))
        profile, fingerprint = Profile.from_body(fields.take(fields.varint(len(data))), max_count)
        holders = np.zeros(profile.n_classes, np.int64)
        present = np.flatnonzero(profile.count)
        holders[present] = [fields.varint(sites) for _ in present]
        agreement = cls(
            profile, holders, sites, expected, gamma, eps, fingerprint, terms, rule, version
        )
        if fields.rest() or not agreement.counts_its_sites:
            raise ScopeError("this policy counts more or fewer sites than it can; merge again")
        return agreement

    @property
    def counts_its_sites(self) -> bool:
        """Say whether the holders can be true on these terms."""
        present = self.profile.count > 0
        if self.terms.noisy:
            return not self.holders.any()
        least = MIN_SITES if self.terms.masked else 1
        in_order = (self.holders[present] >= least).all() and not self.holders[~present].any()
        return bool(in_order and (self.rule != "sum" or (self.holders <= self.profile.count).all()))


def agree(
    messages: Sequence[bytes | Release],
    *,
    names: Sequence[str] | None = None,
    expected: int | None = None,
    gamma: float = 1.0,
    max_count: int = MAX_COUNT,
    rule: str = "sum",
) -> Agreement:
    """Merge profiles of one kit on one mode, encoded or read; `expected` sites (all, if None).

    >>> profile = Profile.empty(3)
    >>> agree([profile.to_bytes(), profile.to_bytes()]).sites
    2
    """
    if not messages:
        raise ScopeError("at least one profile must be given to merge, got none")
    names = names or [f"profile {place}" for place in range(1, len(messages) + 1)]
    read = [
        read_release(message, max_count, name) if isinstance(message, bytes) else message
        for message, name in zip(messages, names, strict=True)
    ]
    first = read[0]
    for release, name in zip(read[1:], names[1:], strict=True):
        check_alike(first, release, names[0], name)
    whole = merged(read, names, max_count, rule)
    whole.profile.check(max_count)
    consensus(whole.profile, gamma)
    return Agreement(
        whole.profile,
        whole.holders,
        len(read),
        expected or len(read),
        float(gamma),
        EPS,
        first.fingerprint,
        first.terms,
        rule,
    )


def read_release(message: bytes, max_count: int, name: str) -> Release:
    """Decode one site's message; a refusal names the site."""
    try:
        return Release.from_bytes(message, max_count)
    except ScopeError as error:
        raise type(error)(f"{name}: {error}") from error


def check_alike(ours: Release, theirs: Release, our_name: str, their_name: str) -> None:
    """Refuse to merge what differs in kit, class list or terms."""
    check_same_kit(ours.fingerprint, theirs.fingerprint, our_name, their_name)
    if ours.n_classes != theirs.n_classes:
        raise FingerprintError(
            f"profiles must speak of one class list, got {ours.n_classes} classes in "
            f"{our_name} and {theirs.n_classes} in {their_name}; score again with one kit"
        )
    check_same_terms(ours.terms, theirs.terms, our_name, their_name)


def check_same_kit(ours: bytes, theirs: bytes, our_name: str, their_name: str) -> None:
    """Refuse to mix what different kits scored: `fingerprint` puts the class list first."""
    if ours == theirs:
        return
    what = "class lists" if ours[:3] != theirs[:3] else "kits"
    raise FingerprintError(
        f"{our_name} and {their_name} were made with different {what} "
        f"({ours.hex() or 'none'} and {theirs.hex() or 'none'}); score both with the same kit"
    )
