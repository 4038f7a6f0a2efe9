from pathlib import Path

import pytest

from scopefl.errors import ScopeError
from scopefl.vision.cache_folder import cache_folder, whole_folder


def test_the_variable_wins_over_xdg_and_xdg_over_home(monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", "/a")
    monkeypatch.setenv("XDG_CACHE_HOME", "/b")
    assert cache_folder() == Path("/a")
    monkeypatch.delenv("SCOPEFL_CACHE")
    assert cache_folder() == Path("/b/scopefl")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", "/home/x")
    assert cache_folder() == Path("/home/x/.cache/scopefl")


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target = tmp_path / "deep" / "kit"
    with pytest.raises(ScopeError), whole_folder(target) as draft:
        (draft / "file").rename(draft / "missing" / "file")
    assert list(target.parent.iterdir()) == []
    with whole_folder(target) as draft:
        (draft / "file").write_text("whole")
        assert not target.exists()
    assert [path.name for path in target.parent.iterdir()] == ["kit"]


def test_the_first_writer_s_folder_stays(tmp_path):
    with whole_folder(tmp_path / "kit") as slow:
        (slow / "file").write_text("second")
        with whole_folder(tmp_path / "kit") as fast:
            (fast / "file").write_text("first")
    assert (tmp_path / "kit" / "file").read_text() == "first"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_place_that_cannot_hold_a_folder_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ScopeError, match="must be writable"), whole_folder(tmp_path / "file" / "x"):
        pass
