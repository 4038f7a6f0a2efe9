"""Rounds that follow each other: sites join, leave, grow and forget; merged is pooled each time."""

from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from scopefl.core.policy import Agreement
from scopefl.core.profile import Profile
from scopefl.core.scores import Scores
from scopefl.core.terms import OPEN
from scopefl.errors import FingerprintError, ScopeError
from scopefl.federation.by_file import merge, read_agreement
from scopefl.stream.books import publish
from scopefl.stream.events import Checkpoint, Trouble
from scopefl.stream.forgetting import forget
from scopefl.stream.ledger import Row, enter, profile_of, rows_where
from scopefl.stream.state import Owner, State
from scopefl.stream.watching import Pace, open_arrivals, watch
from tests.stream.sites import KIT, batch, command, put, run, saved_kit, stream, watched
from tests.vision import small

CLASSES = ("ash", "beech")
NAMES = ("north", "south", "west", "east")
STEPS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(NAMES), st.integers(0, 12), min_size=1),
        st.integers(0, 6),
    ),
    min_size=1,
    max_size=5,
)


def grow(state, n, rng):
    """Enter n images of random scores, as if they had come."""
    at = state.about("number", 0)
    rows = [
        Row(f"{at + k:05}", None, int(rng.integers(0, 2)), bytes([1]), rs, rs / 2, 1, 0.0, fate=0)
        for k, rs in enumerate(rng.uniform(0.1, 0.4, n).tolist())
    ]
    with state.change():
        enter(state, rows)


def shrink(state, n):
    forget(state, [row.id for row in rows_where(state, "1 order by id")][:n])


def remember(shown, state, renewed):
    """Write down, apart from the state's own books, which images its file tells of."""
    for c in renewed:
        shown[c] = rows_where(state, "label = ?", c)


@settings(max_examples=10, deadline=None, phases=(Phase.generate,))
@given(STEPS, st.sampled_from([1, 5]))
def test_merged_is_pooled_at_every_version_whoever_is_there(steps, least):
    rng, before = np.random.default_rng(0), None
    shown = {name: {} for name in NAMES}
    with TemporaryDirectory() as folder:
        work = Path(folder)
        for there, forgotten in steps:
            for name, n in there.items():
                # A site that was away for some rounds finds its books as it left them.
                with State(work / name, Owner(b"kit", CLASSES)) as state:
                    grow(state, n, rng)
                    shrink(state, forgotten)
                    renewed = publish(state, work / f"{name}.profile", OPEN, least)
                    remember(shown[name], state, renewed)
                    if least == 1:
                        assert profile_of(told(shown, [name]), 2) == state.profile
            # Two sites that have nothing to say yet would send the same file.
            names = [name for name in there if told(shown, [name])]
            if names:
                agreement = merge([work / f"{name}.profile" for name in names])
                version = 1 if before is None else before.version + 1
                before = agreement if before is None else agreement.after(before)
                again = Agreement.from_bytes(before.to_bytes())
                assert again.version == version
                assert again.profile == profile_of(told(shown, names), 2)


def told(shown, names):
    return [row for name in names for rows in shown[name].values() for row in rows]


def test_versions_follow_each_other_by_command_and_other_kits_do_not(tmp_path):
    for name, kit in (("a", b"one"), ("b", b"one"), ("c", b"two")):
        rs = np.random.default_rng(ord(name)).uniform(0.1, 0.4, 10)
        scores = Scores(rs, np.sqrt(1 - rs**2), rs / 2)
        profile = Profile.of(scores, np.arange(10) % 2, 2)
        (tmp_path / f"{name}.profile").write_bytes(profile.to_bytes(kit))
    a, b, c = (tmp_path / f"{name}.profile" for name in "abc")
    first, second = tmp_path / "first", tmp_path / "second"
    assert run("merge", a, "-o", first).exit_code == 0
    assert run("merge", a, b, "-o", second, "--after", first).exit_code == 0
    assert [read_agreement(one).version for one in (first, second)] == [1, 2]
    assert '"version": 2' in run("show", second, "--json").output
    found = run("merge", c, "-o", tmp_path / "third", "--after", second)
    assert found.exit_code == 4
    assert not (tmp_path / "third").exists()
    with pytest.raises(FingerprintError):
        read_agreement(first).after(merge([c]))


@pytest.fixture
def site(tmp_path):
    """A site with images, and another whose profile is merged with its own."""
    for number in range(60):
        put(tmp_path / "site", f"{small.CLASSES[number % 3]}/{number:03}.png", number)
        put(tmp_path / "other", f"{small.CLASSES[number % 2]}/{number:03}.png", 500 + number)
    watched(tmp_path / "site", tmp_path, profile=tmp_path / "site.profile")
    (tmp_path / "theirs").mkdir()
    watched(tmp_path / "other", tmp_path / "theirs", profile=tmp_path / "other.profile")
    return tmp_path


def test_a_new_policy_revises_what_an_old_one_decided_while_watching(site):
    one = merge([site / "site.profile"])
    two = merge([site / "site.profile", site / "other.profile"]).after(one)
    policy, images = site / "policy.scope", site / "site"
    policy.write_bytes(one.to_bytes())
    with stream(site, policy=policy) as opened:
        events, pace = [], Pace(0.01, 0.0, 1e9)
        for event in watch(open_arrivals(images, opened, 0.0), opened, pace):
            events.append(event)
            if len(events) == 1:
                policy.write_bytes(two.to_bytes())
            if isinstance(event, Checkpoint) and event.policy == 2:
                pace.stop.set()
    found = [one for one in events if isinstance(one, Checkpoint)]
    assert [one.policy for one in found] == [1, 2]
    assert found[-1].revised > 0
    assert (site / "stream.parquet").read_bytes() == batch(images, site, agreement=two)


def test_a_policy_that_goes_back_is_refused_and_the_last_one_still_decides(site):
    one = merge([site / "site.profile"])
    two = merge([site / "site.profile", site / "other.profile"]).after(one)
    policy = site / "policy.scope"
    policy.write_bytes(two.to_bytes())
    watched(site / "site", site, policy=policy)
    policy.write_bytes(one.to_bytes())
    with pytest.raises(ScopeError, match="it is version 1, and version 2 was followed"):
        stream(site, policy=policy)
    policy.write_bytes(two.to_bytes())
    with stream(site, policy=policy) as opened:
        pace, said = Pace(0.01, 0.0, 0.0), []
        for event in watch(open_arrivals(site / "site", opened, 0.0), opened, pace):
            said.append(event)
            if len(said) == 1:
                policy.write_bytes(one.to_bytes())
            if isinstance(event, Trouble):
                pace.stop.set()
    assert "must not go back" in said[-1].sentence
    assert "the policy that was read before still decides" in said[-1].sentence


def test_a_policy_that_is_half_copied_or_gone_changes_nothing(site):
    one = merge([site / "site.profile"])
    policy = site / "policy.scope"
    policy.write_bytes(one.to_bytes())
    with stream(site, policy=policy) as opened:
        policy.write_bytes(one.to_bytes()[:-3])
        with pytest.raises(ScopeError, match="damaged on its way"):
            opened.follow_policy()
        policy.unlink()
        assert not opened.follow_policy()
        assert opened.checkpoint().policy == 1
        policy.write_bytes(one.to_bytes())
        assert opened.follow_policy()


def test_the_command_publishes_follows_a_policy_and_writes_its_drift(site, tmp_path):
    kit = saved_kit(site / "kit")
    first = run(*command(site / "site", site, kit, "--once", "--publish", site / "p.profile"))
    assert first.exit_code == 0, first.output
    merged = run("merge", site / "p.profile", site / "other.profile", "-o", site / "policy.scope")
    assert merged.exit_code == 0, merged.output
    flags = ("--policy", site / "policy.scope", "--drift", site / "drift.json")
    done = run(*command(site / "site", site, kit, "--once", *flags))
    assert done.exit_code == 0, done.output
    agreement = read_agreement(site / "policy.scope")
    assert (site / "stream.parquet").read_bytes() == batch(site / "site", site, agreement=agreement)
    assert '"class": "eel"' in (site / "drift.json").read_text()
    assert KIT.classes == small.CLASSES
