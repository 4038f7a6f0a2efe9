import hashlib
import io
import tarfile
import zipfile

import pytest

from scopefl.data.datasets.archive import check_md5, tar_files, unzipped
from scopefl.errors import ScopeError


def zipped(path, **files):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for name, content in files.items():
            packed.writestr(name.replace("__", "/"), content)
    return path


def tarred(path, files):
    with tarfile.open(path, "w:gz") as packed:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            packed.addfile(member, io.BytesIO(content))
    return path


def test_a_checksum_that_agrees_passes_and_one_that_does_not_names_both(tmp_path):
    file = tmp_path / "file"
    file.write_bytes(b"published")
    check_md5(file, hashlib.md5(b"published").hexdigest())
    file.write_bytes(b"damaged")
    with pytest.raises(ScopeError, match=f"it has {hashlib.md5(b'damaged').hexdigest()}"):
        check_md5(file, hashlib.md5(b"published").hexdigest())


def test_only_the_wanted_files_of_a_tar_are_read(tmp_path):
    files = {"a/one": b"1", "./a/two": b"2", "../../escape": b"3"}
    archive = tarred(tmp_path / "files.tar.gz", files)
    assert tar_files(archive, ["a/one", "a/two"]) == {"a/one": b"1", "a/two": b"2"}
    assert [path.name for path in tmp_path.iterdir()] == ["files.tar.gz"]


def test_a_tar_without_a_wanted_file_or_cut_off_is_refused(tmp_path):
    archive = tarred(tmp_path / "files.tar.gz", {"one": bytes(range(256)) * 50})
    with pytest.raises(ScopeError, match="must hold two, it does not"):
        tar_files(archive, ["two"])
    archive.write_bytes(archive.read_bytes()[:60])
    with pytest.raises(ScopeError, match="must be a whole tar archive"):
        tar_files(archive, ["one"])


def test_a_zip_is_unpacked_once(tmp_path):
    archive = zipped(tmp_path / "a.zip", tree__one="1")
    folder = unzipped(archive, tmp_path / "out")
    assert (folder / "tree" / "one").read_text() == "1"
    archive.unlink()
    assert unzipped(archive, tmp_path / "out") == folder


@pytest.mark.parametrize("name", ["../escape", "/escape", "a/../../escape", "..\\escape"])
def test_a_zip_that_would_leave_its_folder_is_refused(tmp_path, name):
    archive = zipped(tmp_path / "a.zip", **{name: "x"})
    with pytest.raises(ScopeError, match="would write outside its folder"):
        unzipped(archive, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_zip_that_swells_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    monkeypatch.setattr("scopefl.data.datasets.archive.LARGEST", 1000)
    archive = zipped(tmp_path / "a.zip", zeros=bytes(1001))
    with pytest.raises(ScopeError, match="at most 1000 bytes, it says 1001"):
        unzipped(archive, tmp_path / "out")


def test_a_damaged_zip_leaves_nothing_behind(tmp_path):
    archive = zipped(tmp_path / "a.zip", one=bytes(range(256)))
    content = bytearray(archive.read_bytes())
    content[45] ^= 255
    archive.write_bytes(content)
    with pytest.raises(ScopeError, match="must be a whole zip archive"):
        unzipped(archive, tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["a.zip"]


def test_a_place_that_cannot_be_written_is_told(tmp_path):
    archive = zipped(tmp_path / "a.zip", one="1")
    (tmp_path / "file").write_text("")
    with pytest.raises(ScopeError, match="could not be unpacked"):
        unzipped(archive, tmp_path / "file" / "out")
