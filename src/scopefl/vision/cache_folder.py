"""Where things that can be made again are kept: SCOPEFL_CACHE, else the XDG cache folder."""

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from scopefl.data.files import write_bytes
from scopefl.errors import ScopeError


def cache_folder() -> Path:
    """Give the folder for things that can be made again; it need not exist yet."""
    if chosen := os.environ.get("SCOPEFL_CACHE"):
        return Path(chosen).expanduser()
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "scopefl"


def kept(name: str, make: Callable[[], bytes]) -> bytes:
    """Give a file's bytes if they are whole in the cache, else make them and put them there."""
    path = cache_folder() / name
    raw = path.read_bytes() if path.is_file() else b""
    check, data = raw[:32], raw[32:]
    if hashlib.sha256(data).digest() == check:
        return data
    data = make()
    with suppress(ScopeError):
        write_bytes(path, hashlib.sha256(data).digest() + data)
    return data


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """Give a folder to fill that takes the target's name only when it is complete.

    Two writers may meet: whoever comes second finds the first one's folder and drops its own.
    """
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as refused:
        raise ScopeError(f"{target.parent} must be writable: {refused.strerror}") from refused
    try:
        yield draft
        draft.chmod(0o755)
        if not target.exists():
            draft.rename(target)
    except OSError as refused:
        if not target.exists():
            raise ScopeError(f"{target} could not be written: {refused}") from refused
    finally:
        shutil.rmtree(draft, ignore_errors=True)
