"""Which form of the budget rule to keep: `python -m benchmarks.budget_rule [--seeds 5]`.

Chosen on training images held out from training (for UHCS, on seeds that no reported table uses),
never on a test set. Each variant changes one thing; the first is the rule as it is, which is
checked to be what `select_budget` does. Mean per-class accuracy of the probe, in percent: the
first row as it is, the others as differences from it, with their standard error over seeds.
"""

import argparse
import itertools
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from scopefl.core.budget import SPARE, dithered, quotas, select_budget
from scopefl.core.coreset import AUTO
from scopefl.core.order import Rows, by_class, evenly, highest, ranked
from scopefl.core.policy import consensus
from scopefl.core.profile import Profile
from scopefl.core.scores import Floats, Scores
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
RATIOS, NOISES, KEEPS = (1.0, 10.0), (0.0, 0.1, 0.3), ("0.1", "0.5", "0.9")
WEAK = "IR 1, clean, keep over 0.1"
"""Where there is nothing to gain but what is dropped may have been worth keeping."""
COLUMNS = (
    "all",
    *(data.name for data, *_ in PLACES),
    *(f"IR {ratio:g}" for ratio in RATIOS),
    *(f"noise {noise:g}" for noise in NOISES),
    *(f"keep {keep}" for keep in KEEPS),
    WEAK,
)
TRAINING = Training(rounds=30, batch_size=32, evaluate_every=30)
NEVER = float("inf")


@dataclass(frozen=True)
class Variant:
    """One form of the rule; `softness` is the exponent of N_c in the quotas, 0 for one level.

    A client whose leans pile up on one side takes the margin `noisy`, if there is one.
    """

    margin: float = MARGIN
    noisy: float | None = None
    spare: float = SPARE
    within: str = "r"
    softness: float = 0.0


FIRST = "as it is"
VARIANTS = {
    FIRST: Variant(),
    "random, not even, within a class": Variant(within="random"),
    "even over AS, not R": Variant(within="as"),
    "even over rival, then AS": Variant(within="rival"),
    "no doubt: margin alone": Variant(spare=NEVER),
    "margin 0": Variant(margin=0.0),
    "margin 1/2": Variant(margin=0.5),
    "margin 1/2, even over rival, then AS": Variant(margin=0.5, within="rival"),
    "margin 2": Variant(margin=2.0),
    "margin from the data: 1, or 1/2 where noisy": Variant(noisy=0.5),
    "margin from the data: 2, or 1/2 where noisy": Variant(margin=2.0, noisy=0.5),
    "no anomalies": Variant(margin=NEVER, spare=NEVER),
    "quotas soft, N^(1/4)": Variant(softness=0.25),
    "quotas in proportion, no anomalies": Variant(margin=NEVER, spare=NEVER, softness=1.0),
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


def looks_noisy(leans: Floats) -> bool:
    """Say whether far more lean to their rival than the mirrored other tail explains."""
    gap = leans - np.median(leans)
    far = 2 * np.median(np.abs(gap))
    above, below = int((gap > far).sum()), int((gap < -far).sum())
    return above - below > 2 * np.sqrt(above + below)


@dataclass(frozen=True)
class Measured:
    """A scene's samples, measured once: how they lean, what they may be ordered by."""

    scene: Scene
    profile: Profile
    leans: Floats
    by_as: tuple[Floats, ...]
    orders: dict[str, tuple[Floats, ...]]

    @classmethod
    def of(cls, scene: Scene, scores: Scores) -> "Measured":
        """Measure against the merged profile."""
        profile = Profile.of(scores, scene.labels, scene.collection.n_classes)
        policy = consensus(profile)
        z = z_scores(scores, scene.labels, policy)
        by_as = keys(anomaly, z)
        assert scores.rival is not None
        orders = {
            "r": keys(redundancy, z),
            "as": by_as,
            "rival": (scores.rival.astype(float), *by_as),
            "random": (np.random.default_rng(scene.seed).random(len(scores)),),
        }
        return cls(scene, profile, lean(scores, policy, z), by_as, orders)

    def kept(self, keep: str, variant: Variant) -> list[np.ndarray]:
        """Give what each client keeps under a variant."""
        labels, n_classes = self.scene.labels, self.scene.collection.n_classes
        quota = soft_quotas(self.profile.count, keep, variant.softness)
        chosen = []
        for client, mine in enumerate(self.scene.rows):
            noisy = variant.noisy is not None and looks_noisy(self.leans[mine])
            margin = variant.noisy if noisy else variant.margin
            stays = np.zeros(len(labels), bool)
            for c, group in enumerate(by_class(labels[mine], n_classes)):
                share = quota[c] * len(group) / max(int(self.profile.count[c]), 1)
                count = dithered(share, quota[c], "", str(client), c) if len(group) else 0
                stays[self.of_class(mine[group], count, margin, variant)] = True
            chosen.append(stays[mine])
        return chosen

    def of_class(self, rows: Rows, count: int, margin: float | None, variant: Variant) -> Rows:
        """Choose `count` of a client's rows of one class."""
        ids = np.arange(len(self.leans))
        suspect = self.leans[rows] > margin
        clean, anomalous = rows[~suspect], rows[suspect]
        if count >= len(clean):
            typical = ranked([-key for key in self.by_as], ids, anomalous)
            return np.concatenate([clean, typical[: count - len(clean)]])
        spare = len(clean) - variant.spare * count
        if spare > 0:
            doubtful = clean[self.leans[clean] > 0]
            clean = np.setdiff1d(clean, highest(int(spare), self.by_as, ids, doubtful))
        order = ranked(self.orders[variant.within], ids, clean)
        return order[:count] if variant.within == "random" else evenly(order, count)


def check(measured: Measured, scores: Scores, keep: str) -> None:
    """Make sure that the first variant is the rule of the package."""
    scene = measured.scene
    ours = measured.kept(keep, VARIANTS[FIRST])
    for client, (mine, stays) in enumerate(zip(scene.rows, ours, strict=True)):
        labels, name = scene.labels[mine], str(client)
        rule = select_budget(
            scores[mine], labels, measured.profile, keep=keep, p_l=AUTO, client=name
        )
        assert (rule.kept == stays).all(), "the first variant must be the rule of the package"


def at_random(scene: Scene, keep: str) -> list[np.ndarray]:
    """Keep a share of each client's samples, whatever they are."""
    rng = np.random.default_rng([scene.seed, 1])
    whole = [len(rows) for rows in scene.rows]
    return [rng.permutation(n) < round(float(keep) * n) for n in whole]


def accuracy(subject: Subject, chosen: list[np.ndarray]) -> float:
    """Give the mean per-class accuracy after training on what was kept."""
    plan = subject.plan(subject.scene.seed)
    history = train(
        subject.learner, subject.examples(chosen), subject.test, plan, evaluate_every=30
    )
    right = np.array(history.evaluated[-1].correct)[history.test_count > 0]
    return 100 * float((right / history.test_count[history.test_count > 0]).mean())


def measured_runs(seeds: range) -> Iterator[tuple[str, int, list[str], float]]:
    """Give variant, seed, groups, and accuracy of every training."""
    workshop = Workshop()
    for seed, (data, clients, visual), ratio, noise in itertools.product(
        seeds, PLACES, RATIOS, NOISES
    ):
        division = Division(clients=clients, imbalance_ratio=ratio, noise=noise)
        one = Run(data, division, TRAINING, Pruning(), seed)
        scene, subject = workshop.scene(one), workshop.subject(one)
        scores, _ = workshop.scores(one, visual=visual)
        measured = Measured.of(scene, scores)
        for keep in KEEPS:
            check(measured, scores, keep)
            groups = ["all", data.name, f"IR {ratio:g}", f"noise {noise:g}", f"keep {keep}"]
            if ratio == 1 and noise == 0 and keep != "0.1":
                groups.append(WEAK)
            for name, variant in VARIANTS.items():
                yield name, seed, groups, accuracy(subject, measured.kept(keep, variant))
            yield "random", seed, groups, accuracy(subject, at_random(scene, keep))


def main() -> None:
    """Train on every variant's coresets and print a row a variant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    seeds = range(FIRST_SEED, FIRST_SEED + parser.parse_args().seeds)
    found: dict[tuple[str, str], dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    for name, seed, groups, value in measured_runs(seeds):
        for group in groups:
            found[group, name][seed].append(value)
    print("| variant |", " | ".join(COLUMNS), "|")
    print("|---|" + "--:|" * len(COLUMNS))
    for name in (*VARIANTS, "random"):
        cells = [cell(found[group, name], found[group, FIRST], name == FIRST) for group in COLUMNS]
        print(f"| {name} |", " | ".join(cells), "|")


def cell(
    ours: Mapping[int, Sequence[float]], first: Mapping[int, Sequence[float]], is_first: bool
) -> str:
    """Give the mean over seeds, or the mean difference from the first row and its error."""
    mean = np.array([np.mean(values) for values in ours.values()])
    if is_first:
        return f"{mean.mean():.1f}"
    gap = mean - [np.mean(values) for values in first.values()]
    error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
    return f"{gap.mean():+.2f} ± {error:.2f}"


if __name__ == "__main__":
    main()
