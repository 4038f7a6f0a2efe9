"""The sites' policy as a file that the coordinator may replace at any time."""

from pathlib import Path

from scopefl.core.policy import Agreement, check_same_kit
from scopefl.errors import RefusedError
from scopefl.federation.by_file import read_agreement


class PolicyFile:
    """A policy's file, read again whenever it changes."""

    def __init__(self, path: Path, fingerprint: bytes, version: int = 1) -> None:
        """`version` was followed last."""
        self.path, self.fingerprint, self.version = path, fingerprint, version
        self._looked: tuple[int, ...] | None = None

    def changed(self) -> Agreement | None:
        """Give the policy if the file is not as it was when it was last read, and not older."""
        try:
            found = self.path.stat()
        except OSError:
            # Being replaced, or gone: what it said still holds.
            return None
        look = (found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        if look == self._looked:
            return None
        self._looked = look
        agreement = read_agreement(self.path)
        check_same_kit(self.fingerprint, agreement.fingerprint, "the stream", str(self.path))
        if agreement.version < self.version:
            raise RefusedError(
                f"{self.path} must not go back: it is version {agreement.version}, and version "
                f"{self.version} was followed; ask the coordinator for the last one"
            )
        self.version = agreement.version
        return agreement
