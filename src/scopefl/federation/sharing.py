"""A site's message on the terms of a round: the scores go in, what may leave comes out."""

from collections.abc import Iterable

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from numpy.typing import NDArray

from scopefl.core import noisy, privacy
from scopefl.core.profile import Profile
from scopefl.core.release import SESSION, Release
from scopefl.core.scores import Labels, Scores
from scopefl.core.terms import Terms
from scopefl.data.scores_file import ScoresFile
from scopefl.errors import RefusedError
from scopefl.federation import noise, secure_sum
from scopefl.federation.secure_sum import Roster


def share(
    scores: Scores,
    labels: Labels,
    n_classes: int,
    terms: Terms,
    fingerprint: bytes = b"",
    *,
    key: X25519PrivateKey | None = None,
    roster: Roster | None = None,
) -> bytes:
    """Give the one message that leaves the site, on these terms and no weaker ones."""
    parts = [(scores, labels)]
    return share_parts(parts, n_classes, terms, fingerprint, key=key, roster=roster)


def share_parts(
    parts: Iterable[tuple[Scores, Labels]],
    n_classes: int,
    terms: Terms,
    fingerprint: bytes = b"",
    *,
    key: X25519PrivateKey | None = None,
    roster: Roster | None = None,
) -> bytes:
    """Do what `share` does, of samples that come in parts and need not fit into memory."""
    if terms.mode == "open":
        return Profile.of_parts(parts, n_classes).to_bytes(fingerprint)
    rows, deviation = _rows(parts, n_classes, terms, roster)
    if not terms.masked:
        return Release(terms, fingerprint, rows, noise=deviation).to_bytes()
    if key is None or roster is None:
        raise RefusedError(
            f"{terms.mode} masks with the keys of a roster, and none was given; nothing was shared"
        )
    rows = secure_sum.masked(rows, key, roster)
    sites = len(roster.keys)
    return Release(terms, fingerprint, rows, roster.session, sites, deviation).to_bytes()


def size_of(file: ScoresFile, terms: Terms, sites: int) -> int:
    """Count the bytes of the message that so many sites' terms make of these scores."""
    n_classes = len(file.classes)
    if not (terms.masked or terms.noisy):
        return len(share(file.scores, file.labels, n_classes, terms, file.fingerprint))
    rows = np.zeros((noisy.ROWS if terms.noisy else privacy.ROWS, n_classes), np.int64)
    session = bytes(SESSION) if terms.masked else b""
    return len(Release(terms, file.fingerprint, rows, session, sites, 1.0).to_bytes())


def _rows(
    parts: Iterable[tuple[Scores, Labels]], n_classes: int, terms: Terms, roster: Roster | None
) -> tuple[NDArray[np.int64], float]:
    if terms.noisy:
        deviation = noise.share(terms, len(roster.keys) if roster else 1 + terms.colluders)
        found = np.zeros((noisy.ROWS, n_classes), np.int64)
        for scores, labels in parts:
            found += noisy.moments(scores, labels, n_classes, terms)
        return noise.noised(found, deviation), deviation
    profile = privacy.fold(Profile.of_parts(parts, n_classes), terms.min_cell)
    rows = privacy.to_rows(profile)
    return (rows if terms.masked else rows[:-1]), 0.0
