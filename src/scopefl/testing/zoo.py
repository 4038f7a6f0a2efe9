"""The zoo: hostile files, each with the rule that says what must become of it.

`python -m scopefl.testing.zoo FOLDER` writes them.
"""

import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from scopefl.testing.broken import broken_exhibits
from scopefl.testing.deep import deep_exhibits
from scopefl.testing.exhibit import Exhibit, encoded, grey, scored
from scopefl.testing.shallow import shallow_exhibits
from scopefl.testing.stacks import stack_exhibits


def exhibits() -> Iterator[Exhibit]:
    """Give every exhibit, without writing it."""
    yield from shallow_exhibits()
    yield from deep_exhibits()
    yield from stack_exhibits()
    yield from broken_exhibits()
    yield from _odd_names()


def make_zoo(folder: Path) -> list[Exhibit]:
    """Write every exhibit into a folder and return them."""
    folder.mkdir(parents=True, exist_ok=True)
    made = list(exhibits())
    for exhibit in made:
        exhibit.place(exhibit.path(folder))
    return made


def _odd_names() -> Iterator[Exhibit]:
    plain = scored("", encoded(grey()), grey())
    for name in (b"latin-\xe9.png", b"back\\slash.png", b"new\nline.png", b"-rf.png", b"100%.png"):
        yield replace(plain, name=name)
    yield replace(plain, name="名前 é.png".encode())
    yield replace(plain, name=b"twin-1.png")
    yield replace(plain, name=b"twin-2.png")
    yield replace(plain, name=b"no-suffix")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python -m scopefl.testing.zoo FOLDER")
    shown = make_zoo(Path(sys.argv[1]))
    kept = sum(exhibit.status == "scored" for exhibit in shown)
    print(f"{len(shown)} files: {kept} to be scored, {len(shown) - kept} to be quarantined")
