import resource
import subprocess
import sys
import textwrap

import pytest

from scopefl import ScopeError
from scopefl.data.files import read_bytes, replacing, write_bytes


def test_a_file_is_replaced_whole(tmp_path):
    write_bytes(tmp_path / "a", b"old")
    write_bytes(tmp_path / "a", b"new")
    assert read_bytes(tmp_path / "a", 10) == b"new"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_fails_half_way_leaves_the_old_file_and_no_litter(tmp_path):
    write_bytes(tmp_path / "a", b"old")

    def fail_half_way():
        with replacing(tmp_path / "a") as temporary:
            temporary.write_bytes(b"half")
            raise KeyError

    with pytest.raises(KeyError):
        fail_half_way()
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_full_disk_leaves_the_old_file_and_says_so(tmp_path):
    (tmp_path / "a").write_bytes(b"old")
    code = f"""
        import resource
        from pathlib import Path
        from scopefl import ScopeError
        from scopefl.data.files import write_bytes
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, {resource.RLIM_INFINITY}))
        try:
            write_bytes(Path({str(tmp_path / "a")!r}), bytes(5000))
        except ScopeError as error:
            print(error)
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=True
    )
    assert "could not be written (File too large), what was there before is intact" in done.stdout
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_a_file_over_the_limit_is_not_read(tmp_path):
    (tmp_path / "a").write_bytes(b"12345")
    with pytest.raises(ScopeError, match="at most 4 bytes, it has 5"):
        read_bytes(tmp_path / "a", 4)
    with pytest.raises(ScopeError, match="could not be read: No such file"):
        read_bytes(tmp_path / "b", 4)
