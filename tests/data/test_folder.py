"""Folders: every file is an item or is counted as left out, whatever the disk holds."""

import os
from pathlib import Path

import pytest

from scopefl.data.decoding import Unreadable
from scopefl.data.folder import FolderSource, class_name
from scopefl.errors import ScopeError
from scopefl.testing import check_source
from scopefl.testing.zoo import make_zoo


def put(root: Path, *names: str) -> Path:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
    return root


def test_class_names_are_folder_names_with_spaces(tmp_path: Path) -> None:
    source = FolderSource(put(tmp_path, "b_c/1.png", "a/deep/er/2.png", "a/1.tif"))
    assert source.classes == ("a", "b c")
    assert [(item.id, item.label) for item in source] == [
        ("a/1.tif", "a"), ("a/deep/er/2.png", "a"), ("b_c/1.png", "b c"),
    ]  # fmt: skip


def test_a_class_without_a_picture_is_still_a_class(tmp_path: Path) -> None:
    (put(tmp_path, "a/1.png") / "b").mkdir()
    assert FolderSource(tmp_path).classes == ("a", "b")


def test_two_folders_for_one_class_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ScopeError, match="'a b' and 'a_b' name one class"):
        FolderSource(put(tmp_path, "a b/1.png", "a_b/1.png"))


def test_what_systems_leave_behind_is_ignored_and_counted(tmp_path: Path) -> None:
    source = FolderSource(
        put(tmp_path, "a/1.png", "a/.DS_Store", "a/Thumbs.db", "a/notes.TXT", ".git/x", "read.md")
    )
    assert [item.id for item in source] == ["a/1.png"]
    assert source.ignored == 5
    assert source.classes == ("a",)


def test_files_of_any_other_suffix_are_items(tmp_path: Path) -> None:
    source = FolderSource(put(tmp_path, "a/IMG0001", "a/1.xyz", "top.png"))
    assert [(item.id, item.label) for item in source] == [
        ("a/1.xyz", "a"), ("a/IMG0001", "a"), ("top.png", None),
    ]  # fmt: skip


def test_a_flat_folder_has_no_classes(tmp_path: Path) -> None:
    source = FolderSource(put(tmp_path, "1.png"))
    assert source.classes is None
    assert [item.label for item in source] == [None]


def test_links_are_followed_but_never_in_circles(tmp_path: Path) -> None:
    put(tmp_path, "root/a/1.png", "elsewhere/2.png")
    (tmp_path / "root/a/up").symlink_to("..")
    (tmp_path / "root/a/out").symlink_to("../../elsewhere")
    (tmp_path / "root/b").symlink_to("b")
    ids = [item.id for item in FolderSource(tmp_path / "root")]
    assert ids == ["a/1.png", "a/out/2.png", "b"]


def test_the_order_is_that_of_the_ids_bytes(tmp_path: Path) -> None:
    names = [
        "a/é.png",
        "a/z.png",
        "a/Z.png",
        "a/10.png",
        "a/9.png",
        "a.b/1.png",
        "a/\U0001f52c.png",
    ]
    ids = [item.id for item in FolderSource(put(tmp_path, *names))]
    assert ids == sorted(names, key=str.encode)


def test_a_folder_that_vanishes_after_listing_leaves_reasons(tmp_path: Path) -> None:
    (item,) = FolderSource(put(tmp_path, "a/1.png"))
    (tmp_path / "a/1.png").unlink()
    with pytest.raises(Unreadable, match="no such file"):
        item.read()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_a_folder_that_cannot_be_listed_is_an_item(tmp_path: Path) -> None:
    put(tmp_path, "a/1.png", "b/1.png")
    (tmp_path / "b").chmod(0)
    tmp_path.chmod(0o755)
    pid = os.fork()
    if pid == 0:
        os.chdir(tmp_path)
        os.setuid(65534)
        items = list(FolderSource(Path()))
        try:
            items[1].read()
        except Unreadable as unreadable:
            as_wanted = [item.id for item in items] == ["a/1.png", "b/"]
            os._exit(0 if as_wanted and "cannot be listed" in unreadable.reason else 1)
        os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_the_whole_zoo_conforms_as_a_folder(tmp_path: Path) -> None:
    exhibits = make_zoo(tmp_path)
    source = FolderSource(tmp_path)
    # The exhibit that is an empty folder is a class without pictures.
    assert len(source) == len(exhibits) - 1
    assert check_source(source, sample=len(exhibits)) == len(source)


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScopeError, match="cannot be listed"):
        FolderSource(tmp_path / "gone")


def test_a_name_of_underscores_stays_a_name() -> None:
    assert class_name("__") == "__"
