"""Official archives: checked against their published checksum, never written out of a folder."""

import hashlib
import secrets
import shutil
import tarfile
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath

from scopefl.errors import ScopeError

LARGEST = 8 << 30


def check_md5(archive: Path, md5: str) -> None:
    """Refuse a file that is not the published one, or not all of it."""
    with archive.open("rb") as packed:
        # MD5 is what the publishers publish; it finds damage, not malice.
        given = hashlib.file_digest(packed, _md5).hexdigest()
    if given != md5:
        raise ScopeError(f"{archive} must have MD5 {md5}, it has {given}; download it again")


def tar_files(archive: Path, names: Sequence[str]) -> dict[str, bytes]:
    """Give the content of some files of a tar archive, without unpacking it."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(archive) as packed:
            for member in packed:
                name = member.name.removeprefix("./")
                content = packed.extractfile(member) if member.isfile() else None
                if name in names and content is not None:
                    found[name] = content.read(LARGEST)
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise ScopeError(f"{archive} must be a whole tar archive: {error}") from error
    missing = [name for name in names if name not in found]
    if missing:
        raise ScopeError(f"{archive} must hold {missing[0]}, it does not; download it again")
    return found


def unzipped(archive: Path, folder: Path) -> Path:
    """Unpack a zip archive into `folder`, all of it or nothing; give the folder."""
    if folder.is_dir():
        return folder
    partial = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}")
    try:
        with zipfile.ZipFile(archive) as packed:
            _check_members(archive, packed.infolist())
            for member in packed.infolist():
                packed.extract(member, partial)
        partial.replace(folder)
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise ScopeError(f"{archive} must be a whole zip archive: {error}") from error
    except OSError as error:
        raise ScopeError(
            f"{archive} could not be unpacked into {folder} ({error.strerror or error}); "
            "free some space or unpack it elsewhere"
        ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def _check_members(archive: Path, members: Sequence[zipfile.ZipInfo]) -> None:
    for member in members:
        path = PurePosixPath(member.filename.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts:
            raise ScopeError(f"{archive} would write outside its folder, to {member.filename!r}")
    size = sum(member.file_size for member in members)
    if size > LARGEST:
        raise ScopeError(f"{archive} must unpack to at most {LARGEST} bytes, it says {size}")


def _md5() -> "hashlib._Hash":
    return hashlib.md5(usedforsecurity=False)
