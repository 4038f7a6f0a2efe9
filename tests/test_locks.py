"""The locks hold, with hashes, the versions that the constraints install."""

from pathlib import Path

import pytest
from tools.release_check import ALL, LOCKS, ROOT, SITE, pins

CONSTRAINED = pins((ROOT / "constraints.txt").read_text())


@pytest.mark.parametrize("lock", LOCKS, ids=lambda path: path.name)
def test_every_pin_has_a_hash_and_is_that_of_the_constraints(lock: Path):
    pinned = pins(lock.read_text())
    assert [name for name, (_, hashes) in pinned.items() if not hashes] == []
    moved = [n for n in pinned.keys() & CONSTRAINED.keys() if pinned[n][0] != CONSTRAINED[n][0]]
    assert moved == []


def test_nothing_is_installed_that_no_lock_names():
    site, everything = (pins(lock.read_text()) for lock in (SITE, ALL))
    assert len(site) > 20
    assert site.items() <= everything.items()
    assert CONSTRAINED.keys() <= everything.keys() | {"colorama"}  # on Windows alone
