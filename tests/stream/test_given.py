"""A Python program gives its images one by one, slowly or fast, and each is decided at once."""

import time
from threading import Event

import pytest

from scopefl.data.coreset_file import read_coreset
from scopefl.data.source import Item
from scopefl.stream.arrivals import Arriving, Given
from scopefl.stream.events import Arrival, Clock
from scopefl.stream.watching import SHARE, Pace, _Watch, watch
from tests.stream.sites import picture, stream
from tests.vision import small


def arrived(events):
    return [one.id for one in events if isinstance(one, Arrival)]


def items(numbers):
    for number in numbers:
        pixels = picture(number)
        yield Item(f"shot {number:03}", "camera 1", small.CLASSES[number % 3], lambda p=pixels: p)


def test_a_python_program_gives_its_images_one_by_one_and_none_counts_twice(tmp_path):
    for numbers in (range(20), range(10, 40)):
        with stream(tmp_path) as opened:
            pace = Pace(0.01, once=True, every=0.0)
            events = list(watch(Given(items(numbers)), opened, pace))
            assert len(arrived(events)) == 20
            assert opened.state.profile.count.sum() == numbers.stop
    assert read_coreset(tmp_path / "stream.parquet").table.num_rows == 40


def test_an_endless_iterator_is_taken_image_by_image(tmp_path):
    def endless():
        number = 0
        while True:
            yield from items([number])
            number += 1

    with stream(tmp_path) as opened:
        began = time.monotonic()
        told = opened.take(endless())
        assert len([next(told) for _ in range(300)]) == 300
        told.close()
        assert opened.state.profile.count.sum() >= 300
        assert time.monotonic() - began < 60


def test_what_came_is_decided_while_the_next_is_waited_for(tmp_path):
    told = Event()

    def slow():
        yield from items(range(3))
        assert told.wait(30)
        yield from items(range(3, 5))

    seen = []
    with stream(tmp_path) as opened:
        for event in watch(Given(slow()), opened, Pace(0.01, every=1e9, once=True)):
            seen += arrived([event])
            if len(seen) == 3:
                told.set()
    assert len(seen) == 5


def test_what_a_program_raises_is_raised_after_all_before_it_was_taken(tmp_path):
    def broken():
        yield from items(range(4))
        raise RuntimeError("the shutter is stuck")

    with stream(tmp_path) as opened:
        with pytest.raises(RuntimeError, match="the shutter is stuck"):
            list(watch(Given(broken()), opened, Pace(0.01, once=True)))
        assert opened.state.profile.count.sum() == 4


class Slowly:
    """Arrivals that are found in no time, and read in ten seconds each."""

    trouble, moving = None, 0

    def __init__(self, time):
        self.time = time

    def still(self, *, all_of_them=False):
        for number in range(3):
            yield Arriving(Item(f"{number}", "", "cat", lambda n=number: self.read(n)))

    def read(self, number):
        self.time[0] += 10.0
        return picture(number)


def test_the_next_look_waits_for_what_looking_takes_not_for_what_scoring_takes(tmp_path):
    now = [0.0]
    with stream(tmp_path, clock=Clock(steady=lambda: now[0])) as opened:
        watching = _Watch(Slowly(now), opened, Pace(poll=2.0, every=1e9))
        assert len(arrived(watching._look())) == 3
        assert now[0] >= 30.0
        assert watching.looking.left(now[0]) == 2.0
        watching.looking.took(cost=1.0, now=now[0])
        assert watching.looking.left(now[0]) == SHARE
