import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.data import records
from scopefl.data.records import KEY, Records
from scopefl.errors import ScopeError

LENGTH = 6


def key(number):
    return number.to_bytes(KEY, "big")


def record(number):
    return number.to_bytes(LENGTH, "little")


def filled(folder, numbers, per_shard=4):
    found = Records(folder, LENGTH)
    for number in numbers:
        found.add(key(number), record(number))
        if found.waiting == per_shard:
            found.flush()
    found.flush()
    return found


def read(found, numbers):
    return [row.tobytes() for row in found.get([key(number) for number in numbers])]


def test_what_was_added_is_found_before_and_after_it_is_on_disk(tmp_path):
    found = Records(tmp_path, LENGTH)
    found.add(key(1), record(1))
    assert key(1) in found
    assert read(found, [1, 1]) == [record(1)] * 2
    assert (len(found), found.waiting) == (1, 1)
    assert list(tmp_path.iterdir()) == []
    found.flush()
    assert (len(found), found.waiting) == (1, 0)
    assert read(found, [1]) == [record(1)]
    assert key(1) in Records(tmp_path, LENGTH)
    assert key(2) not in found


@given(
    numbers=st.lists(st.integers(0, 40), min_size=1, max_size=60),
    per_shard=st.integers(1, 7),
    asked=st.randoms(use_true_random=False),
)
def test_records_come_back_in_the_order_asked_however_they_were_cut(
    tmp_path_factory, numbers, per_shard, asked
):
    folder = tmp_path_factory.mktemp("records")
    filled(folder, numbers, per_shard)
    found = Records(folder, LENGTH)
    wanted = asked.choices(numbers, k=20)
    assert read(found, wanted) == [record(number) for number in wanted]
    assert len(found) == len(set(numbers))


def test_a_key_keeps_its_first_record(tmp_path):
    found = Records(tmp_path, LENGTH)
    found.add(key(1), record(1))
    found.add(key(1), record(2))
    found.flush()
    found.add(key(1), record(3))
    assert found.waiting == 0
    assert read(found, [1]) == [record(1)]


def test_a_flush_of_nothing_writes_nothing(tmp_path):
    Records(tmp_path / "none", LENGTH).flush()
    assert not (tmp_path / "none").exists()


def test_two_writers_of_the_same_records_leave_one_shard(tmp_path):
    filled(tmp_path, [3, 1, 2])
    filled(tmp_path / "other", [2, 3, 1])
    (one,) = tmp_path.glob("*.records")
    (other,) = (tmp_path / "other").glob("*.records")
    assert one.name == other.name
    assert one.read_bytes() == other.read_bytes()


@pytest.mark.parametrize("cut", [0, 1, 8, 20, 47, 48, -33, -32, -1])
def test_a_shard_that_breaks_off_is_as_good_as_absent(tmp_path, cut):
    filled(tmp_path, [1, 2])
    (shard,) = tmp_path.glob("*.records")
    shard.write_bytes(shard.read_bytes()[:cut])
    assert len(Records(tmp_path, LENGTH)) == 0


def test_a_shard_with_any_byte_changed_is_as_good_as_absent(tmp_path):
    filled(tmp_path, [1, 2])
    (shard,) = tmp_path.glob("*.records")
    whole = shard.read_bytes()
    for place in range(len(whole)):
        damaged = bytearray(whole)
        damaged[place] ^= 1
        shard.write_bytes(damaged)
        assert len(Records(tmp_path, LENGTH)) == 0, place
    shard.write_bytes(whole)
    assert len(Records(tmp_path, LENGTH)) == 2


@pytest.mark.parametrize("body", [b"", b"SCRECS1\n", b"SCRECS1\n" + b"\xff" * 8, b"another" * 9])
def test_a_file_that_only_carries_a_right_checksum_is_no_shard(tmp_path, body):
    check = records.hashlib.blake2b(body, digest_size=records.CHECK).digest()
    (tmp_path / "made.records").write_bytes(body + check)
    assert len(Records(tmp_path, LENGTH)) == 0


def test_records_of_another_length_are_another_folder_s_business(tmp_path):
    filled(tmp_path, [1, 2])
    assert len(Records(tmp_path, LENGTH + 1)) == 0


def test_a_folder_that_is_a_record_and_torn_temporaries_are_passed_over(tmp_path):
    filled(tmp_path, [1])
    (tmp_path / "folder.records").mkdir()
    (tmp_path / ".half.records.1234").write_bytes(b"SCREC")
    assert len(Records(tmp_path, LENGTH)) == 1


def test_a_shard_that_vanishes_in_use_is_a_sentence(tmp_path):
    filled(tmp_path, [1])
    found = Records(tmp_path, LENGTH)
    next(tmp_path.glob("*.records")).unlink()
    with pytest.raises(ScopeError, match="taken away while it was in use"):
        found.get([key(1)])


def test_many_shards_need_few_open_files(tmp_path):
    import resource

    numbers = list(range(300))
    filled(tmp_path, numbers, per_shard=1)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, hard))
    try:
        found = Records(tmp_path, LENGTH)
        assert read(found, numbers) == [record(number) for number in numbers]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_threads_look_up_while_another_adds_and_flushes(tmp_path):
    found = Records(tmp_path, LENGTH)
    done, wrong = threading.Event(), []

    def look():
        while not done.is_set():
            there = [number for number in range(600) if key(number) in found]
            if read(found, there) != [record(number) for number in there]:
                wrong.append(there)

    def guarded():
        try:
            look()
        except Exception as error:
            wrong.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(3)]
    for thread in threads:
        thread.start()
    for number in range(600):
        found.add(key(number), record(number))
        if found.waiting == 5:
            found.flush()
    done.set()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_rows_are_bytes_of_the_given_length(tmp_path):
    found = filled(tmp_path, [1, 2, 3])
    rows = found.get([key(2)])
    assert (rows.shape, rows.dtype) == ((1, LENGTH), np.uint8)
    assert found.get([]).shape == (0, LENGTH)
