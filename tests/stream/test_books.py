"""What a stream publishes: enough images at a time, the sums of what was told, and no file lost."""

import numpy as np
import pytest

from scopefl.core import attacks
from scopefl.core.profile import Profile
from scopefl.core.release import Release
from scopefl.core.terms import Terms
from scopefl.errors import RefusedError
from scopefl.federation.by_file import Rule
from scopefl.stream.events import Checkpoint
from scopefl.stream.forgetting import forget
from scopefl.stream.ledger import profile_of, rows_where
from tests.stream.sites import put, stream, watched
from tests.vision import small


def told(work):
    return Profile.from_bytes((work / "site.profile").read_bytes())


def add(images, c, numbers):
    for number in numbers:
        put(images, f"{small.CLASSES[c]}/{number:04}.png", number)


def taken(images, work, **plan):
    """Watch once, and give which classes were published."""
    plan = {"profile": work / "site.profile", **plan}
    done = [one for one in watched(images, work, **plan) if isinstance(one, Checkpoint)]
    return tuple(name for one in done for name in one.published)


def test_a_class_is_published_when_five_images_came_and_waits_alone(tmp_path):
    images = tmp_path / "site"
    add(images, 0, range(8))
    add(images, 1, range(100, 104))
    add(images, 2, range(200, 205))
    assert taken(images, tmp_path) == ("cat", "eel")
    assert told(tmp_path).count.tolist() == [8, 0, 5]
    add(images, 0, range(8, 12))
    add(images, 1, range(104, 105))
    assert taken(images, tmp_path) == ("dog",)
    assert told(tmp_path).count.tolist() == [8, 5, 5]
    with stream(tmp_path) as opened:
        rows = rows_where(opened.state, "told is not null")
        assert profile_of(rows, 3) == told(tmp_path)


def test_what_is_forgotten_leaves_in_groups_too(tmp_path):
    images = tmp_path / "site"
    add(images, 0, range(20))
    add(images, 1, range(100, 110))
    assert taken(images, tmp_path) == ("cat", "dog")
    with stream(tmp_path) as opened:
        forget(opened.state, [f"cat/{n:04}.png" for n in range(4)])
    add(images, 1, range(110, 115))
    assert taken(images, tmp_path) == ("dog",)
    assert told(tmp_path).count.tolist() == [20, 15, 0]
    with stream(tmp_path) as opened:
        forget(opened.state, ["cat/0004.png"])
        held = opened.state.profile
    add(images, 1, range(115, 116))
    assert taken(images, tmp_path) == ("cat",)
    assert told(tmp_path).count.tolist() == [15, 15, 0]
    assert told(tmp_path).sums[0, 0] == held.sums[0, 0]


def test_nobody_who_keeps_every_file_can_tell_an_image_apart(tmp_path):
    images, files, rng = tmp_path / "site", [], np.random.default_rng(0)
    for number in range(40):
        add(images, int(rng.integers(0, 3)), [number])
        if number % 7 == 3:
            with stream(tmp_path) as opened:
                (row, *_) = rows_where(opened.state, "1 order by id")
                forget(opened.state, [row.id])
        taken(images, tmp_path)
        files.append(told(tmp_path))
    assert files[-1].count.sum() > 15
    assert [one for one in attacks.between(files) if len(one.rs)] == []


@pytest.mark.parametrize("plan", [{}, {"store": 12, "recent": 0}], ids=["all", "store"])
def test_a_file_that_was_lost_after_the_books_were_written_is_written_again(tmp_path, plan):
    images = tmp_path / "site"
    if plan:
        plan["rule"] = Rule(keep="0.5", prune_anyway=True)
    add(images, 0, range(30))
    taken(images, tmp_path, **plan)
    before = (tmp_path / "site.profile").read_bytes()
    (tmp_path / "site.profile").unlink()
    add(images, 0, [99])
    assert taken(images, tmp_path, **plan) == ()
    assert (tmp_path / "site.profile").read_bytes() == before


def test_a_bounded_store_publishes_all_that_came(tmp_path):
    images = tmp_path / "site"
    plan = {"store": 6, "recent": 0, "rule": Rule(keep="0.5", prune_anyway=True)}
    add(images, 0, range(30))
    taken(images, tmp_path, **plan)
    for path in sorted((images / "cat").iterdir())[:20]:
        path.unlink()
    add(images, 0, range(30, 40))
    assert taken(images, tmp_path, **plan) == ("cat",)
    assert told(tmp_path).count.tolist() == [40, 0, 0]
    add(images, 0, range(40, 45))
    assert taken(images, tmp_path, **plan) == ("cat",)
    assert told(tmp_path).count.tolist() == [45, 0, 0]


def test_min_cell_is_published_as_such_and_masked_modes_are_refused(tmp_path):
    images = tmp_path / "site"
    add(images, 0, range(12))
    taken(images, tmp_path, terms=Terms.of("min-cell", min_cell=10), least=10)
    release = Release.from_bytes((tmp_path / "site.profile").read_bytes())
    assert (release.terms.min_cell, release.rows[0].tolist()) == (10, [12, 0, 0])
    with pytest.raises(RefusedError, match="answer a call"):
        taken(images, tmp_path, terms=Terms.of("secure-sum"))


def test_books_stay_small_however_often_a_class_is_told(tmp_path):
    images = tmp_path / "site"
    plan = {"store": 6, "recent": 0, "rule": Rule(keep="0.5", prune_anyway=True)}
    for turn in range(12):
        add(images, 0, range(turn * 10, turn * 10 + 10))
        assert taken(images, tmp_path, **plan) == ("cat",)
        for path in sorted((images / "cat").iterdir())[:-1]:
            path.unlink()
    assert told(tmp_path).count.tolist() == [120, 0, 0]
    with stream(tmp_path) as opened:
        ((groups,),) = opened.state.ask("select count(*) from beyond where told > 0")
        ((named,),) = opened.state.ask("select count(distinct told) from images")
        # A group is in the books while a row names it, or until its class is told next.
        assert groups <= named + 1
        assert opened.state.beyond.count[0] > 100
