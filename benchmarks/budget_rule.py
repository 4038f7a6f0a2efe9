"""Which form of the budget rule to keep: `python -m benchmarks.budget_rule [--seeds 2]`.

Chosen on training images held out from training (for UHCS, on seeds that no reported table uses),
never on a test set. Each variant changes one thing; the first is the rule as it is, which is
checked to be what `select_budget` does. Mean per-class accuracy of the probe, in percent.
"""

import argparse
import itertools
from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from scopefl.core.budget import SPARE, dithered, quotas, select_budget
from scopefl.core.coreset import AUTO
from scopefl.core.order import by_class, evenly, highest, ranked
from scopefl.core.policy import consensus
from scopefl.core.profile import Profile
from scopefl.core.scores import Scores
from scopefl.core.standard import MARGIN, anomaly, keys, lean, redundancy, z_scores
from scopefl.experiment.learning import Subject
from scopefl.experiment.perform import Workshop
from scopefl.experiment.scene import Scene
from scopefl.experiment.settings import Data, Division, Pruning, Training
from scopefl.experiment.spec import Run
from scopefl.train.federated import run as train

FIRST_SEED = 1000
HELD_OUT = {"samples": 300, "test_samples": 300, "held_out": "train"}
PLACES = (
    (Data("cifar10", **HELD_OUT), 10, False),
    (Data("fashion_mnist", **HELD_OUT), 10, False),
    (Data("uhcs_patches"), 5, True),
)
TRAINING = Training(rounds=30, batch_size=32, evaluate_every=30)


@dataclass(frozen=True)
class Variant:
    """One form of the rule; `softness` is the exponent of N_c in the quotas, 0 for one level."""

    margin: float = MARGIN
    spare: float = SPARE
    within: str = "r"
    softness: float = 0.0
    anomalies: bool = True


VARIANTS = {
    "as it is": Variant(),
    "random, not even, within a class": Variant(within="random"),
    "even over AS, not R": Variant(within="as"),
    "even over rival, then AS": Variant(within="rival"),
    "most typical first": Variant(within="typical"),
    "no doubt: margin alone": Variant(spare=np.inf),
    "margin 0": Variant(margin=0.0),
    "margin 1/2": Variant(margin=0.5),
    "margin 2": Variant(margin=2.0),
    "no anomalies": Variant(anomalies=False, spare=np.inf),
    "quotas soft, N^(1/4)": Variant(softness=0.25),
    "quotas softer, N^(1/2)": Variant(softness=0.5),
    "quotas in proportion": Variant(softness=1.0),
}


def soft_quotas(count: np.ndarray, keep: str, softness: float) -> list[Fraction]:
    """Give min(N_c, s N_c^softness), s such that they sum to keep * N."""
    if not softness:
        return quotas(count, keep)
    total, n = float(Fraction(keep) * int(count.sum())), count.astype(float)
    low, high = 0.0, float(n.max() + 1)
    for _ in range(100):
        middle = (low + high) / 2
        enough = np.minimum(n, middle * n**softness).sum() >= total
        low, high = (low, middle) if enough else (middle, high)
    return [Fraction(q).limit_denominator(1 << 20) for q in np.minimum(n, high * n**softness)]


def kept(scene: Scene, scores: Scores, keep: str, variant: Variant) -> list[np.ndarray]:
    """Give what each client keeps under a variant."""
    labels, n_classes = scene.labels, scene.collection.n_classes
    profile = Profile.of(scores, labels, n_classes)
    policy = consensus(profile)
    z, ids = z_scores(scores, labels, policy), np.arange(len(labels))
    leaning = lean(scores, policy, z)
    if not variant.anomalies:
        leaning = np.full(len(labels), -np.inf)
    by_as, by_r = keys(anomaly, z), keys(redundancy, z)
    typical = [-key for key in by_as]
    orders = {"r": by_r, "as": by_as, "rival": (scores.rival.astype(float), *by_as)}
    ticket = np.random.default_rng(scene.seed).random(len(labels))
    orders |= {"random": (ticket,), "typical": typical}
    quota, chosen = soft_quotas(profile.count, keep, variant.softness), []
    for client, mine in enumerate(scene.rows):
        stays = np.zeros(len(labels), bool)
        for c, group in enumerate(by_class(labels[mine], n_classes)):
            rows = mine[group]
            if not len(rows):
                continue
            count = dithered(
                quota[c] * len(rows) / int(profile.count[c]), quota[c], "", str(client), c
            )
            suspect = leaning[rows] > variant.margin
            clean, anomalous = rows[~suspect], rows[suspect]
            spare = len(clean) - variant.spare * count
            if spare > 0:
                going = highest(int(spare), by_as, ids, clean[leaning[clean] > 0])
                clean = clean[~np.isin(clean, going)]
            order = ranked(orders[variant.within], ids, clean)
            if count >= len(clean):
                stays[clean] = stays[ranked(typical, ids, anomalous)[: count - len(clean)]] = True
            elif variant.within in ("random", "typical"):
                stays[order[:count]] = True
            else:
                stays[evenly(order, count)] = True
        chosen.append(stays[mine])
    return chosen


def check(scene: Scene, scores: Scores, keep: str) -> None:
    """Make sure that the first variant is the rule of the package."""
    profile = Profile.of(scores, scene.labels, scene.collection.n_classes)
    ours = kept(scene, scores, keep, VARIANTS["as it is"])
    for client, (mine, stays) in enumerate(zip(scene.rows, ours, strict=True)):
        rule = select_budget(
            scores[mine], scene.labels[mine], profile, keep=keep, p_l=AUTO, client=str(client)
        )
        assert (rule.kept == stays).all(), "the first variant must be the rule of the package"


def accuracy(subject: Subject, chosen: list[np.ndarray]) -> float:
    """Give the mean per-class accuracy after training on what was kept."""
    plan = subject.plan(subject.scene.seed)
    history = train(
        subject.learner, subject.examples(chosen), subject.test, plan, evaluate_every=30
    )
    right = np.array(history.evaluated[-1].correct)[history.test_count > 0]
    return 100 * float((right / history.test_count[history.test_count > 0]).mean())


def main() -> None:
    """Train on every variant's coresets and print a row a variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    seeds = range(FIRST_SEED, FIRST_SEED + parser.parse_args().seeds)
    found: dict[str, dict[str, list[float]]] = {name: defaultdict(list) for name in VARIANTS}
    workshop = Workshop()
    for (data, clients, visual), ratio, noise, seed in itertools.product(
        PLACES, (1.0, 50.0), (0.0, 0.3), seeds
    ):
        division = Division(clients=clients, imbalance_ratio=ratio, noise=noise)
        one = Run(data, division, TRAINING, Pruning(), seed)
        scene, subject = workshop.scene(one), workshop.subject(one)
        scores, _ = workshop.scores(one, visual=visual)
        for keep, name in itertools.product(("0.1", "0.5"), VARIANTS):
            if name == "as it is":
                check(scene, scores, keep)
            value = accuracy(subject, kept(scene, scores, keep, VARIANTS[name]))
            for group in ("all", data.name, f"IR {ratio:g}", f"noise {noise}", f"keep {keep}"):
                found[name][group].append(value)
    groups = sorted(found["as it is"])
    print("| variant |", " | ".join(groups), "|")
    print("|---|" + "--:|" * len(groups))
    for name, by_group in found.items():
        print(f"| {name} |", " | ".join(f"{np.mean(by_group[g]):.1f}" for g in groups), "|")


if __name__ == "__main__":
    main()
