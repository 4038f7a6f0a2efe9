"""Three sites with keys, scores and a call, as the tests of calls need them."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from scopefl import Scores
from scopefl.core.fingerprint import fingerprint
from scopefl.core.terms import Terms
from scopefl.data.scores_file import ScoresFile
from scopefl.federation import answering
from scopefl.federation import call as calls
from scopefl.federation.call import Call, Member
from scopefl.federation.offers import roster_of
from scopefl.federation.site_keys import SiteKeys

CLASSES = tuple("abcde")
NAMES = ("north", "south", "west")
KIT = fingerprint(CLASSES, {})


def scores_of(seed, n=200, kit=KIT):
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, len(CLASSES), n)
    rs, s_neg = 0.25 + 0.03 * rng.standard_normal((2, n))
    return ScoresFile.of(Scores(rs, np.sqrt(1 - rs**2), s_neg), labels, CLASSES, kit)


def collaboration(folder: Path, terms: Terms, names=NAMES, **changes):
    sites = {name: SiteKeys.new(folder / name, name) for name in names}
    members = {n: Member(calls.public_of(s.key).hex(), 1000) for n, s in sites.items()}
    call = replace(Call("run", 1, "00" * 16, KIT.hex(), terms, members), **changes)
    return sites, Call.from_bytes(call.to_bytes())


def answers(sites, call, attempt=1, after=None):
    roster = None
    if call.terms.masked:
        roster = roster_of([s.offer(call, attempt) for s in sites.values()], call, after)
    return [
        answering.answer(scores_of(seed), call, site, call.terms.mode, roster=roster)
        for seed, site in enumerate(sites.values())
    ], roster
