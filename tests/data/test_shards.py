"""WebDataset tars: keys as webdataset forms them, and every kind of broken tar."""

import io
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scopefl.data.decoding import Unreadable
from scopefl.data.opening import open_source
from scopefl.data.shards import KEY
from scopefl.errors import ScopeError


def write(path: Path, members: list[tuple[str, bytes]], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as tar:  # type: ignore[call-overload]
        for name, data in members:
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return path


def test_the_key_is_the_name_up_to_the_first_dot(tmp_path: Path) -> None:
    members = [("d/a.left.png", b"1"), ("d/a.cls", b"3\n"), ("b.jpg", b"2"), ("noext", b"")]
    items = list(open_source(write(tmp_path / "s.tar", members)))
    assert [(item.id, item.label, item.read()) for item in items] == [
        ("s/b", None, b"2"), ("s/d/a", "3", b"1"),
    ]  # fmt: skip


def test_a_label_can_be_a_field_of_json(tmp_path: Path) -> None:
    members = [("a.png", b""), ("a.json", b'{"kind": "steel"}'), ("b.png", b""), ("b.json", b"[")]
    source = open_source(write(tmp_path / "s.tar", members), label_member="json:kind")
    assert [item.label for item in source] == ["steel", None]


def test_no_picture_or_two_under_one_key_is_quarantined(tmp_path: Path) -> None:
    path = write(tmp_path / "s.tar", [("a.cls", b"1"), ("b.png", b""), ("b.jpg", b"")])
    for item, reason in zip(open_source(path), ("0 images", "2 images"), strict=True):
        with pytest.raises(Unreadable, match=reason):
            item.read()


def test_one_key_in_two_shards_is_two_items(tmp_path: Path) -> None:
    for name in ("x.tar", "y.tar"):
        write(tmp_path / name, [("0.png", b"")])
    assert [item.id for item in open_source(tmp_path)] == ["x/0", "y/0"]


def test_one_member_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ScopeError, match=r"a\.png is twice"):
        open_source(write(tmp_path / "s.tar", [("a.png", b""), ("a.png", b"")]))


@pytest.mark.parametrize("cut", [1700, 2048 + 100, 2048 + 700])
def test_a_tar_cut_short_keeps_what_is_whole_and_says_so(tmp_path: Path, cut: int) -> None:
    path = write(tmp_path / "s.tar", [("a.png", b"1" * 512), ("b.png", b"2" * 512), ("c.png", b"")])
    path.write_bytes(path.read_bytes()[:cut])
    reasons = []
    for item in open_source(path):
        try:
            item.read()
        except Unreadable as unreadable:
            reasons.append(unreadable.reason)
    assert reasons
    assert all("breaks off" in reason or "cut short" in reason for reason in reasons)


def test_compressed_and_false_tars_are_refused(tmp_path: Path) -> None:
    packed = write(tmp_path / "packed.tar", [("a.png", b"")], "w:gz")
    (tmp_path / "false.tar").write_bytes(b"no tar at all" * 100)
    for path in (packed, tmp_path / "false.tar"):
        with pytest.raises(ScopeError, match="uncompressed tar"):
            open_source(path)


def test_names_that_are_not_utf_8_have_escaped_keys(tmp_path: Path) -> None:
    path = tmp_path / "s.tar"
    with tarfile.open(path, "w", encoding="utf-8", errors="surrogateescape") as tar:
        tar.addfile(tarfile.TarInfo("caf\udce9.png"))
    assert [item.id for item in open_source(path)] == ["s/caf\\xe9"]


@given(st.from_regex(r"([a-c]{1,3}(\.x)?/){0,2}[a-c]{1,4}(\.[a-c]{1,3}){1,3}", fullmatch=True))
def test_keys_and_kinds_are_those_of_the_webdataset_package(name: str) -> None:
    tariterators = pytest.importorskip("webdataset.tariterators")
    found = KEY.fullmatch(name)
    assert found is not None
    assert (found[1], found[2]) == tariterators.base_plus_ext(name)
