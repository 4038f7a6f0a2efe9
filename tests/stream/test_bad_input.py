"""What instruments, clocks, disks and kills do to a stream, and that it stays right."""

import shutil

import numpy as np
import pytest

from scopefl.core.profile import Profile
from scopefl.data.coreset_file import read_coreset
from scopefl.errors import RefusedError, ScopeError
from scopefl.stream.arrivals import MOST, FolderArrivals
from scopefl.stream.events import NS, Arrival, Checkpoint, Clock
from scopefl.stream.forgetting import Window
from scopefl.stream.ledger import PAGE, Row, check_sums, enter
from scopefl.stream.state import FILE, Owner, State
from scopefl.stream.watching import open_arrivals
from tests.stream.sites import KIT, batch, command, put, run, saved_kit, stream, watched
from tests.vision import small


def arrivals(events):
    return [one for one in events if isinstance(one, Arrival)]


@pytest.fixture
def images(tmp_path):
    for number in range(30):
        put(tmp_path / "site", f"{small.CLASSES[number % 3]}/{number:03}.png", number)
    return tmp_path / "site"


@pytest.fixture
def filled(images, tmp_path):
    """A state that has taken 30 images."""
    watched(images, tmp_path)
    return tmp_path


class Time:
    """A clock of a test, in seconds; the wall's may jump."""

    def __init__(self, wall=1e9):
        self.now, self.wall = 0.0, wall

    @property
    def clock(self):
        return Clock(lambda: int(self.wall * NS), lambda: self.now)


def test_a_half_written_file_waits_until_it_is_left_alone(images, tmp_path):
    whole, time = (images / "cat/000.png").read_bytes(), Time(wall=0.0)
    with stream(tmp_path, clock=time.clock) as opened:
        looking = open_arrivals(images, opened, 2.0)
        list(looking.still())
        time.now = 2.0
        assert len(list(opened.take(looking.still()))) == 30
        growing = images / "cat/new.png"
        for length in range(100, len(whole), 200):
            growing.write_bytes(whole[:length])
            assert list(looking.still()) == []
            time.now += 1.9
        growing.write_bytes(whole)
        assert list(looking.still()) == []
        time.now += 2.0
        assert [one.fate for one in opened.take(looking.still())] == ["kept"]


def test_a_half_written_file_that_was_taken_is_taken_again_when_it_is_whole(images, tmp_path):
    whole = (images / "cat/000.png").read_bytes()
    (images / "cat/000.png").write_bytes(whole[: len(whole) // 2])
    first = {one.id: one.fate for one in arrivals(watched(images, tmp_path))}
    assert first["cat/000.png"] == "quarantined"
    (images / "cat/000.png").write_bytes(whole)
    assert [one.id for one in arrivals(watched(images, tmp_path))] == ["cat/000.png"]
    assert (tmp_path / "stream.parquet").read_bytes() == batch(images, tmp_path)


def test_an_instrument_that_rewrites_a_file_counts_once_with_its_last_content(images, tmp_path):
    for content in (500, 501, 502):
        put(images, "cat/000.png", content)
        watched(images, tmp_path)
        with stream(tmp_path) as opened:
            assert opened.state.profile.count.tolist() == [10, 10, 10]
    assert (tmp_path / "stream.parquet").read_bytes() == batch(images, tmp_path)


def test_a_file_rewritten_with_the_same_content_is_not_told_of_again(images, filled):
    shutil.copy(images / "cat/000.png", filled / "copy.png")
    (filled / "copy.png").replace(images / "cat/000.png")
    assert arrivals(watched(images, filled)) == []


@pytest.mark.parametrize("jump", [-1e8, 1e8], ids=["back", "ahead"])
def test_a_jumping_clock_neither_loses_nor_delays_an_image(images, tmp_path, jump):
    time = Time(wall=max(path.stat().st_ctime for path in images.rglob("*.png")))
    with stream(tmp_path, clock=time.clock) as opened:
        looking = open_arrivals(images, opened, 2.0)
        assert list(looking.still()) == []
        time.wall += jump
        time.now = 2.0
        assert len(list(opened.take(looking.still()))) == 30
        order = [row[0] for row in opened.state.ask("select seen from images order by number")]
        time.wall -= 2 * jump
        put(images, "cat/late.png", 900)
        list(looking.still())
        time.now = 4.0
        assert len(list(opened.take(looking.still()))) == 1
        (last,) = opened.state.ask("select seen from images where id = 'cat/late.png'")[0]
        assert order == sorted(order)
        assert last >= order[-1]


@pytest.mark.parametrize("jump", [-1e6, 1e6], ids=["back", "ahead"])
def test_a_window_of_time_forgets_by_the_time_that_passed_not_by_a_jump(images, tmp_path, jump):
    time = Time(wall=2e9)
    with stream(tmp_path, clock=time.clock, window=Window.parse("1h")) as opened:
        assert len(list(opened.take(open_arrivals(images, opened, 0.0).still()))) == 30
        time.wall += jump
        assert opened.let_go() == 0
        time.now += 3599
        assert opened.let_go() == 0
        time.now += 2
        assert opened.let_go() == 30
        assert opened.state.profile == Profile.empty(3)


def test_a_clock_that_went_back_between_two_watches_forgets_nothing(images, tmp_path):
    window = Window.parse("1h")
    for wall, left in ((2e9, 30), (1e9, 30), (2e9 + 3601, 0)):
        with stream(tmp_path, clock=Time(wall).clock, window=window) as opened:
            if not opened.changes:
                assert len(list(opened.take(open_arrivals(images, opened, 0.0).still()))) == 30
            opened.let_go()
            assert opened.state.profile.count.sum() == left


def test_a_class_never_seen_before_is_quarantined_named_and_an_alarm(images, tmp_path):
    for number in range(3):
        put(images, f"cats/{number}.png", 700 + number)
    events = watched(images, tmp_path)
    told = [one for one in arrivals(events) if one.fate == "quarantined"]
    assert len(told) == 3
    assert "unknown class 'cats', nearest 'cat'" in told[0].reason
    (alarm,) = [one for one in events if isinstance(one, Checkpoint)][-1].drift
    assert alarm.startswith("3 recent images: unknown class 'cats'")
    assert read_coreset(tmp_path / "stream.parquet").fates["quarantined"] == 3


def test_a_class_of_the_kit_that_no_image_was_of_yet_is_kept(images, tmp_path):
    for path in (images / "eel").iterdir():
        path.unlink()
    watched(images, tmp_path)
    put(images, "eel/first.png", 800)
    (first,) = arrivals(watched(images, tmp_path))
    assert (first.id, first.fate) == ("eel/first.png", "kept")


def damage_header(path):
    path.write_bytes(b"not a database at all" + path.read_bytes()[21:])


def damage_middle(path):
    data = bytearray(path.read_bytes())
    data[4096 : len(data) : 7] = bytes(len(data[4096 : len(data) : 7]))
    path.write_bytes(data)


def damage_end(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("damage", [damage_header, damage_middle, damage_end])
def test_a_corrupt_state_is_one_sentence_with_the_way_out(images, filled, tmp_path, damage):
    damage(filled / "state" / FILE)
    kit = saved_kit(tmp_path / "kit")
    found = run(*command(images, tmp_path, kit, "--once"))
    assert found.exit_code == 2
    assert "is damaged" in found.output
    assert "move it away and run the same scope watch again" in " ".join(found.output.split())
    (filled / "state").rename(filled / "away")
    assert run(*command(images, tmp_path, kit, "--once")).exit_code == 0
    assert (tmp_path / "stream.parquet").read_bytes() == batch(images, tmp_path)


def test_a_row_that_somebody_changed_is_found_by_the_sums(images, filled):
    with State(filled / "state") as state, state.change():
        state.tell("update images set rs = rs + 0.25 where id = ?", [("cat/000.png",)])
    with pytest.raises(ScopeError, match="its sums are not those of its images"):
        stream(filled)


def test_a_state_of_another_version_and_an_empty_file_are_told_apart(images, filled):
    with State(filled / "state") as state, state.change():
        state.set_about("version", 99)
    with pytest.raises(ScopeError, match="format version 99 and this scopefl reads 1"):
        stream(filled)
    (filled / "state" / FILE).write_bytes(b"")
    with stream(filled) as opened:
        assert opened.state.profile == Profile.empty(3)


def test_two_watches_into_one_state_are_refused(filled, images):
    with (
        stream(filled) as opened,
        stream(filled) as other,
        opened.state.watched(),
        pytest.raises(RefusedError, match="being watched into"),
        other.state.watched(),
    ):
        pass


def test_a_full_disk_leaves_the_state_as_it_was(images, filled):
    put(images, "cat/more.png", 901)
    with stream(filled) as opened:
        before = opened.state.profile
        pages = opened.state.ask("pragma page_count")[0][0]
        opened.state.ask(f"pragma max_page_count = {pages}")
        rows = [Row(f"{n}" * 400, None, 0, b"k", 0.1, 0.1, 1, 0.0) for n in range(100)]
        with (
            pytest.raises(ScopeError, match="could not be read or written"),
            opened.state.change(),
        ):
            enter(opened.state, rows)
        assert opened.state.profile == before
    watched(images, filled)
    assert (filled / "stream.parquet").read_bytes() == batch(images, filled)


def burst(root, n):
    """Put n files of no content into one class folder."""
    folder = root / "cat"
    folder.mkdir(parents=True)
    for number in range(n):
        (folder / f"{number:06}.png").touch()
    return root


def remembered(state, root):
    """Enter every file as if it had been scored, as fast as the ledger can."""
    rng, looking = np.random.default_rng(0), FolderArrivals(root, state, 0.0, Clock())
    found = list(looking.still())
    for start in range(0, len(found), PAGE):
        rows = [
            Row(one.item.id, None, 0, bytes([1]), float(rs), 0.1, 1, 0.0, look=one.look, fate=0)
            for one, rs in zip(found[start:][:PAGE], rng.random(PAGE), strict=False)
        ]
        with state.change():
            enter(state, rows)
    return len(found)


@pytest.mark.parametrize(
    "n", [5_000, pytest.param(100_000, marks=pytest.mark.nightly)], ids=["small", "full"]
)
def test_a_burst_of_files_is_met_once_each_and_looked_over_quickly(tmp_path, n):
    root = burst(tmp_path / "site", n)
    with State(tmp_path / "state", Owner(KIT.fingerprint, KIT.classes)) as state:
        assert remembered(state, root) == n
        assert list(FolderArrivals(root, state, 0.0, Clock()).still()) == []
        assert state.profile.count[0] == n
        check_sums(state)


def test_of_a_burst_no_more_than_a_bounded_number_is_watched_at_once(tmp_path, monkeypatch):
    monkeypatch.setattr("scopefl.stream.arrivals.MOST", 100)
    assert MOST >= 10_000
    root, time = burst(tmp_path / "site", 250), Time(wall=0.0)
    with State(tmp_path / "state", Owner(KIT.fingerprint, KIT.classes)) as state:
        looking, found = FolderArrivals(root, state, 1.0, time.clock), 0
        for _ in range(8):
            came = list(looking.still())
            assert looking.moving <= 100
            with state.change():
                enter(
                    state,
                    [
                        Row(one.item.id, None, 0, b"k", 0.1, 0.1, 1, 0.0, look=one.look)
                        for one in came
                    ],
                )
            found, time.now = found + len(came), time.now + 1.0
        assert found == 250
