"""The sites' policy as a file that the coordinator may replace at any time."""

from pathlib import Path

from scopefl.core.policy import Agreement, check_same_kit
from scopefl.federation.by_file import read_agreement


class PolicyFile:
    """A policy's file, read again whenever it changes."""

    def __init__(self, path: Path, fingerprint: bytes) -> None:
        self.path, self.fingerprint = path, fingerprint
        self._looked: tuple[int, ...] | None = None

    def changed(self) -> Agreement | None:
        """Give the policy if the file is not as it was when it was last read."""
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
        return agreement
