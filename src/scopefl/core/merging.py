"""What many sites sent is added up here: plainly, under masks, or with noise."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core import noisy, privacy, robust
from scopefl.core.profile import MAX_COUNT, Profile
from scopefl.core.release import Release
from scopefl.core.terms import MIN_SITES
from scopefl.errors import RefusedError

MASKS_LEFT = 1 << 58
"""What no noisy sum reaches and a mask that did not cancel passes."""


@dataclass(frozen=True)
class Merged:
    """What all sites hold together, and how many hold each class."""

    profile: Profile
    holders: NDArray[np.int64]


def merged(
    read: Sequence[Release], names: Sequence[str], max_count: int = MAX_COUNT, rule: str = "sum"
) -> Merged:
    """Add up what sites sent on the same terms."""
    terms = read[0].terms
    if rule != "sum" and (terms.masked or terms.noisy):
        raise RefusedError(
            f"{terms.mode} lets nobody see single sites, so only sums can be merged; "
            "leave the robust rule out or merge groups of sites"
        )
    if terms.masked:
        _check_session(read, names)
    if terms.noisy:
        _check_noise(read, names)
        return _denoised(read)
    total = np.sum([release.rows for release in read], axis=0)
    if terms.masked:
        return Merged(*privacy.published(*privacy.from_total(total, len(read), max_count)))
    profiles = [release.profile for release in read]
    holders = np.stack([p.count > 0 for p in profiles]).sum(axis=0, dtype=np.int64)
    if rule == "median":
        return Merged(robust.weighted_median(profiles), holders)
    return Merged(sum(profiles, Profile.empty(read[0].n_classes)), holders)


def _denoised(read: Sequence[Release]) -> Merged:
    # int64 wraps around as the masks do.
    total = np.sum([release.rows for release in read], axis=0)
    if np.abs(total).max(initial=0) > MASKS_LEFT or (total == np.iinfo(np.int64).min).any():
        raise RefusedError(
            "the masked profiles do not add up: one masked for another roster; start a new attempt "
            "with new keys"
        )
    noise = float(np.sqrt(sum(release.noise**2 for release in read)))
    profile = noisy.restored(total, noise, read[0].terms)
    return Merged(profile, np.zeros(profile.n_classes, np.int64))


def _check_noise(read: Sequence[Release], names: Sequence[str]) -> None:
    # It follows from the terms, so that who tells another one would drown or bare all classes.
    usual = float(np.median([release.noise for release in read]))
    for release, name in zip(read, names, strict=True):
        if not np.isclose(release.noise, usual, rtol=1e-3, atol=0):
            raise RefusedError(
                f"{name} tells noise of deviation {release.noise:.4g} where the same terms give "
                f"the others {usual:.4g}; leave it out, or ask it to make its profile again"
            )


def _check_session(read: Sequence[Release], names: Sequence[str]) -> None:
    first = read[0]
    for release, name in zip(read, names, strict=True):
        if (release.session, release.sites) != (first.session, first.sites):
            raise RefusedError(
                f"{names[0]} and {name} masked for different rosters; masks cancel only within one "
                "attempt, so merge the files of one attempt"
            )
    if first.sites < MIN_SITES:
        raise RefusedError(f"a masked sum needs at least {MIN_SITES} sites, got {first.sites}")
    if len(read) != first.sites:
        raise RefusedError(
            f"the roster has {first.sites} sites and {len(read)} masked profiles came "
            f"({', '.join(names)}); their masks do not cancel: wait, or start a new attempt with "
            "new keys for those who are there"
        )


@dataclass(frozen=True)
class Influence:
    """How far one site moves what all are told: means in sigmas, class shares in percent points."""

    name: str
    images: int
    mean_shift: float
    share_shift: float


def influence(read: Sequence[Release], names: Sequence[str]) -> list[Influence]:
    """Leave each site out in turn; the modes that show single sites only."""
    if any(release.terms.masked or release.terms.noisy for release in read):
        raise RefusedError(
            f"{read[0].terms.mode} lets nobody see what one site adds; influence can be told of "
            "open and min-cell rounds"
        )
    whole = sum((release.profile for release in read), Profile.empty(read[0].n_classes))
    return [_of_site(whole, r.profile, name) for r, name in zip(read, names, strict=True)]


def _of_site(whole: Profile, own: Profile, name: str) -> Influence:
    rest = whole - own
    both = (rest.count > 0) & (own.count > 0)
    sigma = np.maximum(rest.sigma, 1e-3)
    shift = np.abs(whole.mean - rest.mean) / sigma
    shares = [p.count / max(int(p.count.sum()), 1) for p in (whole, rest)]
    return Influence(
        name,
        int(own.count.sum()),
        float(shift[:, both].max(initial=0.0)),
        100 * float(np.abs(shares[0] - shares[1]).max(initial=0.0)),
    )
