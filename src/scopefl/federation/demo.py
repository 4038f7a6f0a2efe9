"""The whole path on real images: ten sites score, share, select by both rules, and train."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from scopefl.core.policy import Agreement
from scopefl.core.scores import Labels
from scopefl.data.coreset_file import CoresetFile, write_coreset
from scopefl.data.demo_images import DemoImages
from scopefl.data.files import replacing, write_bytes
from scopefl.data.opening import open_source
from scopefl.data.partition import Partition, dirichlet, long_tail, noisy
from scopefl.data.rules import DecodingRules
from scopefl.data.scores_file import ScoresFile, write_scores
from scopefl.data.sequence import SequenceSource
from scopefl.errors import ScopeError
from scopefl.federation.by_file import Rule, coreset, merge
from scopefl.train.curves import Curve
from scopefl.train.federated import run
from scopefl.train.learner import Examples
from scopefl.train.plan import Plan
from scopefl.train.probe import Probe
from scopefl.train.projection import random as random_projection
from scopefl.vision.fitness import CHANCE
from scopefl.vision.kit import Kit
from scopefl.vision.prototypes import Centroids
from scopefl.vision.scoring import Embedded, embed_source, score_embedded, unit_rows, with_rules

N_SITES, ALPHA, IMBALANCE, WRONG = 10, 0.1, 10, 0.1
N_IMAGES, N_TEST = 6000, 1000
FEATURES = 256
PAPER = Rule(prune_anyway=True)
BUDGET = Rule(keep=0.3, p_l="auto", prune_anyway=True)
"""A tiny site's verdict on the encoder may be bad by chance: the page says so, and goes on."""
PLAN = Plan(rounds=60, batch_size=64, lr=0.1)
Passed = Callable[[], None]


@dataclass(frozen=True)
class Site:
    """One site of the demo: its files, what only the demo knows (the truth), bytes it sent."""

    name: str
    folder: Path
    scores: ScoresFile
    embedded: Embedded
    truth: Labels
    sent: int


def write_sites(images: DemoImages, out: Path, seed: int) -> list[tuple[Path, Labels]]:
    """Write each site's images as class folders, some labels wrong; give folders and truth."""
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.permutation(len(images.labels))[: 4 * N_IMAGES])
    rows = rows[long_tail(images.labels[rows], IMBALANCE, rng)]
    rows = np.sort(rng.permutation(rows)[:N_IMAGES])
    given = noisy(images.labels[rows], len(images.classes), WRONG, rng).labels
    return [
        (folder, _write_site(images, rows[mine], given[mine], folder))
        for k, mine in enumerate(_divided(given, rng).rows, 1)
        for folder in [out / f"site-{k:02d}"]
    ]


def _divided(labels: Labels, rng: np.random.Generator) -> Partition:
    """Give each site 20 images at least, or 1 where so skewed a division allows no more."""
    try:
        return dirichlet(labels, N_SITES, ALPHA, rng, min_size=20)
    except ScopeError:
        return dirichlet(labels, N_SITES, ALPHA, rng)


def _write_site(images: DemoImages, rows: NDArray[np.intp], given: Labels, folder: Path) -> Labels:
    names = {}
    for row, label in zip(rows.tolist(), given.tolist(), strict=True):
        path = folder / images.classes[label].replace(" ", "_") / f"{row:06d}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists():
            Image.fromarray(images.images[row]).save(path)
        names[str(path.relative_to(folder))] = int(images.labels[row])
    found = [item.id for item in open_source(folder)]
    if set(found) != set(names):
        raise ScopeError(
            f"{folder} must hold the images of this demo only; delete {folder.parent}, or name "
            "another folder by --out"
        )
    order = [names[name] for name in found]
    text = "\n".join(images.classes[label] for label in order)
    write_bytes(folder.with_suffix(".truth.txt"), text.encode())
    return np.array(order, np.int64)


def score_sites(
    folders: Sequence[tuple[Path, Labels]], kit: Kit, cache: Path, passed: Passed
) -> list[Site]:
    """Let every site score its folder and write its scores and its profile."""
    embedded = [
        embed_source(open_source(folder), kit, DecodingRules(), cache, passed=lambda _: passed())
        for folder, _ in folders
    ]
    files = [score_embedded(one, DecodingRules())[0] for one in embedded]
    visual = _unread(files)
    if visual:
        empty = Centroids.empty(len(kit.classes), kit.manifest.dim)
        means = sum((one.centroids for one in embedded), empty)
        files = [score_embedded(one, DecodingRules(), means)[0] for one in embedded]
    return [
        _write_scored(folder, truth, file, one, visual)
        for (folder, truth), file, one in zip(folders, files, embedded, strict=True)
    ]


def _unread(files: Sequence[ScoresFile]) -> bool:
    """Say whether the encoder tells these classes from chance no better than it should."""
    images = [len(file.labels) for file in files]
    return bool(
        np.average([file.settings["fitness"]["auc"] for file in files], weights=images) < CHANCE
    )


def _write_scored(
    folder: Path, truth: Labels, file: ScoresFile, embedded: Embedded, visual: bool
) -> Site:
    write_scores(file, folder.with_suffix(".parquet"))
    message = file.profile.to_bytes(file.fingerprint)
    write_bytes(folder.with_suffix(".profile"), message)
    with replacing(folder.with_suffix(".embeddings.npy")) as temporary, temporary.open("wb") as out:
        np.save(out, embedded.cache.rows(embedded.keys), allow_pickle=False)
    means = embedded.centroids.to_bytes(embedded.kit.fingerprint) if visual else b""
    return Site(folder.name, folder, file, embedded, truth, len(message) + len(means))


def agreed(sites: Sequence[Site], out: Path) -> Agreement:
    """Let the coordinator merge the profiles into the policy."""
    profiles = [site.folder.with_suffix(".profile") for site in sites]
    agreement = merge(profiles, expected=len(sites))
    write_bytes(out, agreement.to_bytes())
    return agreement


def select_sites(sites: Sequence[Site], agreement: Agreement, rule: Rule) -> list[CoresetFile]:
    """Let every site select, and write its coreset."""
    made = []
    for site in sites:
        made.append(coreset(site.scores, agreement, rule, site.name))
        suffix = ".paper.parquet" if rule.keep is None else ".budget.parquet"
        write_coreset(made[-1], site.folder.with_suffix(suffix))
    return made


def kept_rows(coresets: Sequence[CoresetFile]) -> list[NDArray[np.bool_]]:
    """Mark what each site keeps."""
    return [np.array(file.table["fate"].to_pylist()) == "kept" for file in coresets]


def embed_test(images: DemoImages, kit: Kit, cache: Path, passed: Passed) -> Embedded:
    """Embed test images, whose labels nobody changed."""
    pairs = list(zip(images.test_images, images.test_labels.tolist(), strict=True))[:N_TEST]
    named = [(pixels, images.classes[label]) for pixels, label in pairs]
    source = SequenceSource(named)
    return embed_source(source, kit, DecodingRules(), cache, passed=lambda _: passed())


def learnable(sites: Sequence[Site], test: Embedded) -> tuple[list[Examples], Examples]:
    """Give each site's embeddings and those to test on, both on the same fewer axes."""
    rows = [unit_rows(site.embedded.cache, site.embedded.keys) for site in sites]
    project = random_projection(np.concatenate(rows), FEATURES, np.random.default_rng(0))
    held = Examples(project(unit_rows(test.cache, test.keys)), test.labels)
    each = zip(rows, sites, strict=True)
    return [Examples(project(x), site.embedded.labels) for x, site in each], held


def train_on(
    name: str, sites: Sequence[Examples], kept: Sequence[NDArray[np.bool_]], held: Examples, c: int
) -> Curve:
    """Train a linear head of c classes on what the sites keep, by FedAvg."""
    clients = [
        Examples(site.x[mine], site.y[mine])
        for site, mine in zip(sites, kept, strict=True)
        if mine.any()
    ]
    return Curve.of(name, sum(map(len, clients)), run(Probe(FEATURES, c), clients, held, PLAN))


def compare(
    sites: Sequence[Site],
    paper: Sequence[CoresetFile],
    budget: Sequence[CoresetFile],
    test: Embedded,
    seed: int,
) -> list[Curve]:
    """Train on everything, on what each rule keeps, and on as many images drawn by chance."""
    by_paper, by_budget = kept_rows(paper), kept_rows(budget)
    kept = {
        "everything": [mine | True for mine in by_paper],
        "paper's rule": by_paper,
        "random, as many as the paper's rule": random_rows(by_paper, seed),
        "budget rule": by_budget,
        "random, as many as the budget rule": random_rows(by_budget, seed),
    }
    examples, held = learnable(sites, test)
    c = len(test.kit.classes)
    return [train_on(name, examples, mine, held, c) for name, mine in kept.items()]


@dataclass(frozen=True)
class Outcome:
    """What came of one site under one rule, wrong labels among it."""

    images: int
    sent: int
    kept: int
    wrong: int
    caught: int

    @classmethod
    def of(cls, site: Site, chosen: CoresetFile) -> "Outcome":
        """Count what the site keeps, and the wrong labels that were called anomalous."""
        wrong = site.scores.labels != site.truth
        anomalous = np.array(chosen.table["fate"].to_pylist()) == "anomalous"
        caught = int((wrong & anomalous).sum())
        return cls(len(wrong), site.sent, chosen.fates["kept"], int(wrong.sum()), caught)


def total(outcomes: Iterable[Outcome]) -> Outcome:
    """Add up outcomes."""
    return Outcome(*(sum(column) for column in zip(*map(astuple, outcomes), strict=True)))


def random_rows(kept: Sequence[NDArray[np.bool_]], seed: int) -> list[NDArray[np.bool_]]:
    """Mark as many images a site as were kept, by chance."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(mine) for mine in kept]


def demo_kit(images: DemoImages) -> Kit:
    """Give the offline kit for the demo's classes."""
    return with_rules(Kit.load("offline", images.classes), DecodingRules())
