"""A collection whose labels are positions in a class list, as WebDataset's .cls often are."""

from collections.abc import Iterator
from dataclasses import replace

from scopefl.data.source import Item, Source


class Numbered:
    """The items of a source, each under the name of the class that its label counts to from 0."""

    def __init__(self, source: Source, classes: tuple[str, ...]) -> None:
        self.name = source.name
        self.classes: tuple[str, ...] | None = classes
        self._source, self._names = source, classes

    def __len__(self) -> int:
        return len(self._source)

    def __iter__(self) -> Iterator[Item]:
        for item in self._source:
            yield replace(item, label=self._named(item.label))

    def _named(self, label: str | None) -> str | None:
        """Give the class at a position; what is no position stays, to be refused as unknown."""
        if label is None or not (label.isascii() and label.isdigit()):
            return label
        return self._names[int(label)] if int(label) < len(self._names) else label
