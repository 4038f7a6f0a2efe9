r"""A folder of class folders: the folder's name is the class, every picture below it an item.

What counts, so that nothing is left out unseen:
* every file is an item, whatever its suffix, except hidden ones (.name), what systems leave behind
  (Thumbs.db, desktop.ini, __MACOSX) and documents beside the pictures (.txt, .csv, .json ...);
  how many were left out is `ignored`;
* links are followed, but not into a folder that contains them;
* a folder that cannot be listed is an item itself, quarantined with the reason;
* files beside the class folders have no label; without class folders no file has one.
"""

import os
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path, PurePath

from scopefl.data.content import read_file
from scopefl.data.names import escape, shown
from scopefl.data.source import Item
from scopefl.data.unreadable import Unreadable
from scopefl.errors import ScopeError

LEFT_BEHIND = {"thumbs.db", "ehthumbs.db", "desktop.ini", "__macosx"}
DOCUMENTS = {
    ".cfg", ".csv", ".db", ".htm", ".html", ".ini", ".json", ".jsonl", ".log", ".md", ".parquet",
    ".pdf", ".py", ".sh", ".toml", ".tsv", ".txt", ".xml", ".yaml", ".yml",
}  # fmt: skip
Place = tuple[int, int]
"""Device and inode: what a folder is, whatever links lead to it."""


class FolderSource:
    """The pictures below a folder, labelled by the folder they are in."""

    def __init__(self, root: Path) -> None:
        self.name = shown(root.name or root)
        self.root = root
        self.ignored = 0
        self.classes = _class_names(root)
        self._names = sorted(self._walk(), key=lambda name: _id(name).encode())

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[Item]:
        for name in self._names:
            folder, inside, _ = name.partition("/")
            label = class_name(folder) if self.classes and inside else None
            yield Item(_id(name), _id(name), label, partial(self._read, name), self.root / name)

    def _read(self, name: str) -> bytes:
        if not name or name.endswith("/"):
            raise Unreadable("the folder cannot be listed")
        return read_file(self.root / name)

    def _walk(self) -> Iterator[str]:
        """Give the names below the root; those of folders that cannot be listed end in a slash."""
        waiting: list[tuple[str, tuple[Place, ...]]] = [("", ())]
        while waiting:
            folder, above = waiting.pop()
            try:
                above = (*above, _place((self.root / folder).stat()))
                with os.scandir(self.root / folder) as found:
                    entries = list(found)
            except OSError:
                yield folder
                continue
            for entry in entries:
                if not _counts(entry.name):
                    self.ignored += 1
                elif not _is_folder(entry):
                    yield folder + entry.name
                elif _place(entry.stat()) not in above:
                    waiting.append((f"{folder}{entry.name}/", above))


def class_name(folder: str) -> str:
    """Return a folder's name as a class is shown: underscores are spaces.

    >>> class_name("carbide_network")
    'carbide network'
    """
    return " ".join(_id(folder).replace("_", " ").split()) or _id(folder)


def _class_names(root: Path) -> tuple[str, ...] | None:
    """Return the classes the folder's own folders name, in the order of their bytes."""
    try:
        with os.scandir(root) as entries:
            folders = [one.name for one in entries if _counts(one.name) and _is_folder(one)]
    except OSError as error:
        raise ScopeError(f"{shown(root)} cannot be listed: {error.strerror}") from None
    names = sorted((class_name(folder).encode(), _id(folder)) for folder in folders)
    for (one, first), (other, second) in pairwise(names):
        if one == other:
            raise ScopeError(f"folders {first!r} and {second!r} name one class, {one.decode()!r}")
    return tuple(one.decode() for one, _ in names) or None


def _id(name: str) -> str:
    return escape(os.fsencode(name))


def _counts(name: str) -> bool:
    lower = name.lower()
    document = PurePath(lower).suffix in DOCUMENTS
    return not (name.startswith(".") or lower in LEFT_BEHIND or document)


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _place(found: os.stat_result) -> Place:
    return found.st_dev, found.st_ino
