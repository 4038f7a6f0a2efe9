"""What a page shows: all rows where memory holds them, else a choice of them; counted exactly."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scopefl.core.order import Rows
from scopefl.data.coreset_file import CoresetFile
from scopefl.report.collection import (
    Collection,
    Site,
    check_sites,
    collect,
    joined,
    parts,
    with_embeddings,
)
from scopefl.report.draw import SEED, drawn
from scopefl.report.gallery import candidates
from scopefl.report.tally import N_FATES, Catch, Tally

MOST_DRAWN = 4000
MOST_QUARANTINED = 500


@dataclass(frozen=True)
class Gathered:
    """Rows to show, with counts of all rows; `sample` are those of `collection` to draw from."""

    collection: Collection
    tally: Tally
    catch: Catch | None
    quarantined: int
    sample: Rows

    def to_draw(self, limit: int) -> Rows:
        """Choose the samples to draw: every class and fate by its share."""
        return self.sample[drawn(_groups(self.collection)[self.sample], limit)]


def gather(sites: Sequence[Site]) -> Gathered:
    """Read the sites' coresets, those on disk a part at a time."""
    if all(isinstance(site.coreset, CoresetFile) for site in sites):
        whole = collect(sites)
        lost = len(whole.quarantined)
        return Gathered(whole, Tally.of(whole), Catch.of(whole), lost, np.arange(len(whole)))
    check_sites(sites)
    return _chosen(sites)


def _chosen(sites: Sequence[Site]) -> Gathered:
    """Keep what galleries may show and an even sample, of all parts seen so far."""
    rng = np.random.default_rng(SEED)
    collection: Collection | None = None
    chance, quarantined = np.zeros(0), 0
    tallies: list[Tally] = []
    catches: list[Catch | None] = []
    for part in parts(sites):
        tallies = [Tally.sum([*tallies, Tally.of(part)])]
        catches = [Catch.sum([*catches, Catch.of(part)])]
        quarantined += len(part.quarantined)
        chance = np.concatenate([chance, rng.random(len(part))])
        seen = part if collection is None else joined([collection, part])
        rows = np.union1d(candidates(seen), _luckiest(seen, chance))
        collection, chance = seen.only(rows, MOST_QUARANTINED), chance[rows]
    assert collection is not None, "a table on disk has rows"
    shown = with_embeddings(collection, sites)
    return Gathered(shown, tallies[0], catches[0], quarantined, _luckiest(shown, chance))


def _luckiest(collection: Collection, chance: NDArray[np.float64]) -> Rows:
    """Give the rows of the lowest chances, and the lowest of every class and fate."""
    order = np.argsort(chance, kind="stable")
    _, first = np.unique(_groups(collection)[order], return_index=True)
    return np.union1d(order[:MOST_DRAWN], order[first])


def _groups(collection: Collection) -> NDArray[np.int64]:
    return collection.label.astype(np.int64) * N_FATES + collection.fate
