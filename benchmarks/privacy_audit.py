"""Whether the noise keeps its promise: the messages themselves, tested on the worst neighbours.

Each class is a copy of the mechanism of its own, so that one message of many classes is many
draws: empty classes on one side, classes of one image at the ends of the range on the other.
"""

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from scipy.stats import beta, norm

from scopefl import Scores
from scopefl.core import noisy
from scopefl.core.cells import UNIT
from scopefl.core.release import Release
from scopefl.core.terms import Terms
from scopefl.federation import noise, secure_sum
from scopefl.federation.secure_sum import Roster
from scopefl.federation.sharing import share

LEVEL = 0.05
SITES = 4
PARTS = (1.0, 0.9, 0.75, 0.5)
AUDITS = 200


def images(n, terms):
    """Hold the image that moves the moments furthest, once in each of n classes."""
    rs = np.full(n, terms.high)
    return Scores(rs, np.sqrt(1 - rs**2), np.full(n, terms.low)), np.arange(n)


def nothing():
    none = np.zeros(0)
    return Scores(none, none, none), np.zeros(0, np.int64)


def seen(held, n, terms):
    """Give the moments (5, n) that the coordinator learns, its colluders' help included."""
    if not terms.masked:
        return Release.from_bytes(share(*held, n, terms)).rows
    keys = [X25519PrivateKey.generate() for _ in range(SITES)]
    roster = Roster.of(bytes(32), 1, [secure_sum.public_of(key) for key in keys])
    honest = keys[terms.colluders :]
    sites = [held] + [nothing()] * (len(honest) - 1)
    told = [Release.from_bytes(share(*one, n, terms, key=key, roster=roster)).rows
            for one, key in zip(sites, honest, strict=True)]  # fmt: skip
    # A colluder takes its own noise out of the total, which is as good as adding none.
    bare = np.zeros((noisy.ROWS, n), np.int64)
    told += [secure_sum.masked(bare, key, roster) for key in keys[: terms.colluders]]
    return np.sum(told, axis=0)


def along(rows, terms):
    """Give each draw's place on the line between the neighbours, the image at `length`."""
    shift = noisy.moments(*images(1, terms), 1, terms)[:, 0] / UNIT
    length = float(np.linalg.norm(shift))
    return (shift / length) @ (rows / UNIT), length


def dp_audit(draws, epsilon=1.0, delta=1e-6):
    """Test the claim on each noisy mode and on weaker noise, and say what would be noticed."""
    claim = noise.rho_for(epsilon, delta)
    print(f"\ndp-audit: claimed epsilon {epsilon:g}, delta {delta:g}; {draws} draws a side, "
          f"level {LEVEL}; power by {AUDITS} simulated audits")  # fmt: skip
    print(f"{'mode':14}{'noise':>7}{'claim':>14}{'epsilon at least':>18}{'power':>7}")
    for mode in ("local-dp", "secure-sum+dp"):
        for part in PARTS:
            weaker = noise.epsilon_of(claim / part**2, delta)
            terms = Terms.of(mode, epsilon=weaker, delta=delta)
            without, length = along(seen(nothing(), draws, terms), terms)
            with_one, _ = along(seen(images(draws, terms), draws, terms), terms)
            found = lower_epsilon(without, with_one, length, delta)
            verdict = "REJECTED" if found > epsilon else "not rejected"
            deviation = length / np.sqrt(2 * claim) * part
            power = rejected(draws, length, deviation, epsilon, delta)
            print(f"{mode:14}{f'x {part:g}':>7}{verdict:>14}{found:>18.3f}{power:>7.2f}")


def lower_epsilon(without, with_one, length, delta):
    """Give the least epsilon these draws allow, sure but for the level.

    Of Gaussian noise one threshold shows how far apart the sides are (mu, as Nasr et al. 2023
    audit it); mu^2 / 2 is rho, which converts as the claim did.
    """
    n, threshold, error = len(without), length / 2, LEVEL / 2
    hits, false = int((with_one > threshold).sum()), int((without > threshold).sum())
    least, most = beta.ppf(error, hits, n - hits + 1), beta.ppf(1 - error, false + 1, n - false)
    mu = max(0.0, float(norm.ppf(least) - norm.ppf(most)))
    return noise.epsilon_of(mu**2 / 2, delta)


def rejected(draws, length, deviation, epsilon, delta):
    """Give the share of simulated audits (continuous noise) that reject the claim."""
    rng = np.random.default_rng(0)
    sides = (rng.normal(0, deviation, (2, draws)) for _ in range(AUDITS))
    found = [lower_epsilon(x, y + length, length, delta) > epsilon for x, y in sides]
    return float(np.mean(found))
