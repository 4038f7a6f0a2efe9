"""Who can find out what in which mode, and what one bad site can move."""

import numpy as np
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from benchmarks.privacy_data import fates, jaccard, pooled, profiles, sites
from scopefl import Profile, Scores, agree, consensus
from scopefl.core import attacks, noisy, robust
from scopefl.core.cells import UNIT
from scopefl.core.privacy import where
from scopefl.core.release import Release
from scopefl.core.terms import MODES, Terms
from scopefl.federation import noise, secure_sum
from scopefl.federation.secure_sum import Roster
from scopefl.federation.sharing import share

GROUPS = 3


def scaled(profile, factor):
    return Profile(*(array * factor for array in profile.arrays))


def extreme(profile, rs=0.95):
    unit = profile.count * UNIT
    squares = np.rint(np.stack([rs**2 + 0 * unit, 1 - rs**2 + 0 * unit, 0 * unit]) * unit)
    sums = np.rint(np.stack([rs + 0 * unit, np.sqrt(1 - rs**2) + 0 * unit, 0 * unit]) * unit)
    return Profile(profile.count, sums.astype(np.int64), squares.astype(np.int64))


def moved(scores, labels, by):
    rs, s_neg = np.clip(scores.rs + by, -1, 1), np.clip(scores.s_neg + by, -1, 1)
    return Scores(rs, np.sqrt(1 - np.float64(rs) ** 2), s_neg), labels


def bad(own, held, n_classes):
    """Name seven things that one site of ten may send instead of its own profile."""
    scores, labels = held
    turned = Profile(*(np.roll(array, 1, axis=-1) for array in own.arrays))
    swapped = Scores(scores.s_neg, np.sqrt(1 - np.float64(scores.s_neg) ** 2), scores.rs)
    wide = np.where(np.arange(len(labels)) % 2, 0.9, -0.9)
    spread = Scores(wide, np.sqrt(1 - wide**2), -wide)
    return {
        "counts x 1000": scaled(own, 1000),
        "extreme means": extreme(own),
        "both": scaled(extreme(own), 1000),
        "other backbone": Profile.of(*moved(scores, labels, 0.15), n_classes),
        "classes turned": turned,
        "RS and S_neg swapped": Profile.of(swapped, labels, n_classes),
        "widest spread": Profile.of(spread, labels, n_classes),
    }


def of_groups(found):
    groups = [found[at::GROUPS] for at in range(GROUPS)]
    empty = Profile.empty(found[0].n_classes)
    return consensus(robust.weighted_median([sum(group, empty) for group in groups]))


def hostile(data, seeds):
    """Print the agreement of nine honest sites with what they would select without the tenth."""
    rules = {
        "sum": lambda found, _: pooled(found),
        "sum, declared size": lambda found, cap: pooled([p for p in found if p.count.sum() <= cap]),
        "weighted median": lambda found, _: consensus(robust.weighted_median(found)),
        "median of 3 groups": lambda found, _: of_groups(found),
    }
    print(f"\n{data.name}: one bad site of ten, kept agreement of the other nine, {seeds} seeds")
    print(f"{'attack':22}" + "".join(f"{rule:>20}" for rule in rules))
    table = {}
    for seed in range(seeds):
        held = sites(data, 10, seed)
        found = profiles(held, data.n_classes)
        truth = fates(held[1:], [pooled(found[1:])] * 9)
        cap = 2 * max(int(p.count.sum()) for p in found)
        sent = {"none": found[0], **bad(found[0], held[0], data.n_classes)}
        for attack, message in sent.items():
            for rule, merge in rules.items():
                policy = merge([message, *found[1:]], cap)
                kept, _ = jaccard(fates(held[1:], [policy] * 9), truth)
                table.setdefault(attack, {}).setdefault(rule, []).append(kept)
    for attack, row in table.items():
        print(f"{attack:22}" + "".join(f"{np.mean(row[rule]):>20.3f}" for rule in rules))


def held_by(rs, labels):
    rs = np.asarray(rs, float)
    return Scores(rs, np.sqrt(1 - rs**2), rs / 2), np.asarray(labels)


def sent(held, terms):
    """Give the messages of sites that hold these scores."""
    keys = [X25519PrivateKey.generate() for _ in held]
    roster = None
    if terms.masked:
        roster = Roster.of(bytes(32), 1, [secure_sum.public_of(key) for key in keys])
    return [share(s, y, 4, terms, key=k, roster=roster)
            for (s, y), k in zip(held, keys, strict=True)]  # fmt: skip


def one_sites(message):
    """Read one site's message as the coordinator can."""
    read = Release.from_bytes(message)
    if read.terms.noisy and not read.terms.masked:
        return noisy.restored(read.rows, read.noise, read.terms)
    return read.profile if not read.terms.noisy else Profile.empty(read.n_classes)


def succeeded(found, truth, label):
    return any(one.label == label and attacks.matches(one.rs, np.asarray(truth)) for one in found)


def attempted():
    """Try every attack in every mode: does it give an image's score away? None: refused."""
    rows = {}
    for mode in MODES:
        terms = Terms.of(mode)
        usual = held_by(np.linspace(0.1, 0.4, 60), [0, 3] * 30)
        for n in (1, 2, 3):
            truth = [0.2, 0.25, 0.33][:n]
            own = held_by([*usual[0].rs, *truth], [*usual[1], *[1] * n])
            first = sent([own, usual, usual], terms)[0]
            hit = succeeded(attacks.reconstruct(one_sites(first)), truth, 1)
            rows.setdefault(f"coordinator, class of {n}", {})[mode] = hit
            if n == 1:
                member = attacks.is_member(one_sites(first), 1, 0.2)
                rows.setdefault("membership by exact score", {})[mode] = member
        after = held_by([*usual[0].rs, 0.2], [*usual[1], 0])
        one, two = (one_sites(sent([x, usual, usual], terms)[0]) for x in (usual, after))
        rows.setdefault("successive profiles", {})[mode] = differ(one, two)
        old, new = (agree(sent([x, usual, usual], terms)).profile for x in (usual, after))
        rows.setdefault("successive totals", {})[mode] = differ(old, new)
        rows.setdefault("K = 2, the other site", {})[mode] = last_site(terms, 2)
        rows.setdefault("K - 1 of 4 collude", {})[mode] = last_site(terms, 4)
        rows.setdefault("sole holder, coordinator", {})[mode] = sole_holder(terms)
        rows.setdefault("drop-out that was feigned", {})[mode] = feigned(terms)
    return rows


def table():
    """Print, mode by mode, which attacks give an image's score away."""
    print("\nattack table: yes = the score of an image is found")
    print(f"{'attack':28}" + "".join(f"{mode:>15}" for mode in MODES))
    for attack, row in attempted().items():
        print(f"{attack:28}" + "".join(f"{words(row[mode]):>15}" for mode in MODES))


def words(hit):
    return "refused" if hit is None else "yes" if hit else "no"


def differ(before, after):
    known = (after.count >= before.count) & (after.count > 0)
    if (after.count < before.count).any() or not known.any():
        return False
    return succeeded(attacks.reconstruct(attacks.added(before, after)), [0.2], 0)


def last_site(terms, k):
    """Let all but one site take what they hold out of what they were told."""
    if terms.masked and k < 3:
        return None
    victim = held_by([0.2, 0.31], [1, 1])
    others = [held_by(np.linspace(0.1, 0.4, 30), [0, 1, 3] * 10) for _ in range(k - 1)]
    told = agree(sent([victim, *others], terms)).profile
    own = sum(profiles(others, 4), Profile.empty(4))
    left = attacks.of_the_others(told, own)
    possible = (left.count > 0) & (left.sums[1] >= 0)
    return succeeded(attacks.reconstruct(where(left, possible)), [0.2, 0.31], 1)


def sole_holder(terms):
    """Let one site alone hold a class of one image, and the coordinator read the total."""
    usual = held_by(np.linspace(0.1, 0.4, 60), [0, 3] * 30)
    own = held_by([*usual[0].rs, 0.2], [*usual[1], 1])
    read = [Release.from_bytes(message) for message in sent([own, usual, usual], terms)]
    total = np.sum([one.rows for one in read], axis=0)
    if terms.noisy:
        spread = np.sqrt(sum(one.noise**2 for one in read))
        seen = noisy.restored(total, float(spread), terms)
    else:
        seen = Profile(total[0], total[1:4], total[4:7])
    return succeeded(attacks.reconstruct(seen), [0.2], 1)


def feigned(terms):
    """Let the coordinator call a site lost that had answered, and take two totals apart."""
    victim = held_by([0.2, 0.31], [1, 1])
    usual = held_by(np.linspace(0.1, 0.4, 60), [0, 3] * 30)
    first, second = (
        np.sum([Release.from_bytes(message).rows for message in sent(sites, terms)], axis=0)
        for sites in ([victim, usual, usual, usual], [usual, usual, usual])
    )
    left = first - second
    if terms.noisy:
        seen = noisy.restored(left, noise.share(terms, 4) * np.sqrt(7), terms)
    else:
        seen = Profile(left[0], left[1:4], left[4:7])
    return succeeded(attacks.reconstruct(seen), [0.2, 0.31], 1)
