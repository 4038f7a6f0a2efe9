import mmap
import time

import numpy as np
import pytest

from scopefl.train import cost
from scopefl.train.cost import Cost, encoded_size, metered, training_cost
from scopefl.train.federated import run
from scopefl.train.learner import Examples
from scopefl.train.plan import Plan
from scopefl.train.probe import Probe

MEGABYTE = 1 << 20


def fill(megabytes):
    # A mapping of its own goes back to the system at once; freed arrays may be handed out again.
    with mmap.mmap(-1, megabytes * MEGABYTE) as memory:
        for page in range(0, len(memory), mmap.PAGESIZE):
            memory[page] = 1


def test_time_and_the_peak_of_memory_are_measured():
    with metered() as meter:
        fill(64)
        time.sleep(0.01)
    assert meter.seconds >= 0.01
    assert 56 * MEGABYTE < meter.peak_bytes < 120 * MEGABYTE


def test_a_peak_before_the_block_is_not_charged_to_it():
    fill(200)
    with metered() as meter:
        fill(20)
    assert 12 * MEGABYTE < meter.peak_bytes < 80 * MEGABYTE


def test_memory_that_was_freed_and_is_used_again_is_seen_again():
    peaks = []
    for _ in range(2):
        with metered() as meter:
            many = [np.ones(20_000, np.uint8) for _ in range(2000)]
            last = many[-1]
            del many
        peaks.append(meter.peak_bytes)
    assert min(peaks) > 30 * MEGABYTE
    assert last.all()


def test_a_block_that_fails_is_measured_too():
    with pytest.raises(KeyboardInterrupt), metered() as meter:
        raise KeyboardInterrupt
    assert meter.seconds > 0


def test_where_the_peak_cannot_start_again_only_growth_beyond_it_counts(monkeypatch, tmp_path):
    monkeypatch.setattr(cost, "_CLEAR", tmp_path / "missing" / "clear_refs")
    with metered() as meter:
        pass
    assert meter.peak_bytes < 8 * MEGABYTE


def test_without_the_files_of_linux_the_peak_of_the_process_is_asked(monkeypatch, tmp_path):
    here = cost._peak()
    monkeypatch.setattr(cost, "_STATUS", tmp_path / "status")
    assert cost._peak() == pytest.approx(here, rel=0.5)


def test_weights_are_charged_as_they_travel():
    assert encoded_size([np.zeros((10, 4), np.float32), np.zeros(10, np.float32)]) == 456


def test_a_training_is_charged_to_its_clients_by_hand():
    data = Examples(np.zeros((6, 4), np.float32), np.zeros(6, np.int64))
    history = run(Probe(4, 10), [data, data], data, Plan(3, local_epochs=2))
    charged = training_cost(Probe(4, 10), history)
    assert charged.flops == 3 * 2 * 12 * (4 * 4 * 10)
    assert charged.up == charged.down == 3 * 2 * 456
    assert charged.seconds == history.seconds


def test_costs_add_and_memory_takes_the_larger():
    total = Cost(1, 2, 3, 4, 5) + Cost(10, 20, 1, 40, 50)
    assert total == Cost(11, 22, 3, 44, 55)
