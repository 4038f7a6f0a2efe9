"""What an export needs to know besides the coreset."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Target:
    """The coreset file (name, hash, bytes, day, licence), and how to point at its images."""

    file: str = "coreset.parquet"
    sha256: str = ""
    size: int = 0
    made: str = "1970-01-01"
    images: Path | None = None
    prefix: str = ""
    license: str = ""

    def locate(self, path: str) -> str:
        """Give the place of an image for another program.

        >>> Target(prefix="/data/local-files/?d=").locate("a/b.png")
        '/data/local-files/?d=a/b.png'
        """
        if self.prefix:
            return self.prefix + path
        return str(Path(self.images or ".", path).absolute()) if self.images else path
