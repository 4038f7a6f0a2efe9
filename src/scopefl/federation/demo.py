"""A round by file on synthetic embeddings: three sites, a long tail, and some wrong labels."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import fingerprint
from scopefl.core.policy import Agreement
from scopefl.core.scores import score
from scopefl.data.files import read_bytes, write_bytes
from scopefl.data.scores_file import ScoresFile
from scopefl.federation.by_file import Rule, choose, merge

SITES = ("north", "south", "west")
CLASSES = tuple("abcdefghij")
DIMENSION = 64
WRONG = 0.1


@dataclass(frozen=True)
class SiteRow:
    """What became of one site's images."""

    site: str
    images: int
    sent: int
    kept: int
    anomalous: int
    redundant: int
    wrong: int
    caught: int


def synthetic_round(seed: int) -> list[SiteRow]:
    """Let three sites profile, a coordinator merge, and each site select, through real files."""
    rng = np.random.default_rng(seed)
    prototypes = _unit(rng.standard_normal((len(CLASSES), DIMENSION)))
    sites = {site: _site(rng, prototypes) for site in SITES}
    with TemporaryDirectory() as folder:
        paths = [Path(folder, f"{site}.profile") for site in SITES]
        for path, (file, _) in zip(paths, sites.values(), strict=True):
            write_bytes(path, file.profile.to_bytes(file.fingerprint))
        policy = Path(folder, "policy.scope")
        write_bytes(policy, merge(paths, expected=len(SITES)).to_bytes())
        agreement = Agreement.from_bytes(read_bytes(policy, 1 << 20))
        return [
            _row(site, path.stat().st_size, file, wrong, agreement)
            for (site, (file, wrong)), path in zip(sites.items(), paths, strict=True)
        ]


def _site(
    rng: np.random.Generator, prototypes: NDArray[np.float32]
) -> tuple[ScoresFile, NDArray[np.bool_]]:
    # Each site holds its own mix of classes; class c is 10^(-c/9) as common as class 0.
    mix = rng.dirichlet(np.full(len(CLASSES), 0.5)) * 10 ** -np.linspace(0, 1, len(CLASSES))
    truth = rng.choice(len(CLASSES), size=2000, p=mix / mix.sum())
    images = _unit(prototypes[truth] + 0.25 * rng.standard_normal((len(truth), DIMENSION)))
    wrong = rng.random(len(truth)) < WRONG
    shift = rng.integers(1, len(CLASSES), size=len(truth))
    labels = np.where(wrong, (truth + shift) % len(CLASSES), truth)
    scores = score(images, prototypes, labels)
    return ScoresFile.of(scores, labels, CLASSES, fingerprint(CLASSES, {})), wrong


def _unit(rows: NDArray[Any]) -> NDArray[np.float32]:
    unit: NDArray[np.float32] = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(
        np.float32
    )
    return unit


def _row(
    site: str, sent: int, file: ScoresFile, wrong: NDArray[np.bool_], agreement: Agreement
) -> SiteRow:
    selection = choose(file, agreement, Rule(), site)
    return SiteRow(
        site,
        len(wrong),
        sent,
        int(selection.kept.sum()),
        int(selection.anomalous.sum()),
        int(selection.redundant.sum()),
        int(wrong.sum()),
        int((wrong & selection.anomalous).sum()),
    )
