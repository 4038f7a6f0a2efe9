"""Writing files so that a reader sees the old one or the new one, never half of one."""

import hashlib
import os
import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scopefl.errors import ScopeError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Lend a temporary name beside `path`; move it there, whole and on disk, when all went well."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        _move_durably(temporary, path)
    except OSError as error:
        raise _not_written(path, error) from error
    finally:
        # What cannot be removed was never there, or must not hide why it could not be written.
        with suppress(OSError):
            temporary.unlink()


@contextmanager
def scratch(beside: Path | None = None) -> Iterator[Path]:
    """Lend a folder for what memory does not hold, beside a file or where the system puts such."""
    try:
        if beside is not None:
            beside.parent.mkdir(parents=True, exist_ok=True)
        place = None if beside is None else beside.absolute().parent
        with tempfile.TemporaryDirectory(dir=place, prefix=".scope-") as folder:
            yield Path(folder)
    except OSError as error:
        raise ScopeError(
            f"{place or tempfile.gettempdir()} must have room for rows that memory does not hold "
            f"({error.strerror or error}); free some space or choose another place"
        ) from error


def reserve(path: Path, size: int) -> None:
    """Make a file of zeros that has its room on disk, so that filling it cannot fail."""
    with path.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, max(size, 1))


def write_bytes(path: Path, data: bytes) -> None:
    """Replace a file by these bytes."""
    with replacing(path) as temporary:
        temporary.write_bytes(data)


def read_bytes(path: Path, largest: int) -> bytes:
    """Give a file's bytes, refusing one that is too large before it is read."""
    try:
        size = path.stat().st_size
        if size > largest:
            raise ScopeError(f"{path} must be at most {largest} bytes, it has {size}")
        return path.read_bytes()
    except OSError as error:
        raise ScopeError(f"{path} could not be read: {error.strerror}") from error


def file_sha256(path: Path) -> str:
    """Give the SHA-256 of a file, in hex."""
    with path.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def _move_durably(temporary: Path, path: Path) -> None:
    with temporary.open("rb+") as written:
        os.fsync(written.fileno())
    temporary.replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _not_written(path: Path, error: OSError) -> ScopeError:
    return ScopeError(
        f"{path} could not be written ({error.strerror or error}), what was there before is intact;"
        " free some space or choose another place"
    )
