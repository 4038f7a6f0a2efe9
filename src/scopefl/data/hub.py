"""A Hugging Face `Dataset`, its images left undecoded so that one bad row cannot stop the loop."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scopefl.data.content import read_file
from scopefl.data.names import shown
from scopefl.data.source import Item
from scopefl.data.unreadable import Unreadable, plain
from scopefl.errors import ScopeError

ONE, SPLITS = ("state.json", "dataset_info.json"), "dataset_dict.json"
"""What `save_to_disk` leaves in the folder of a dataset, and above those of its splits."""


def is_saved(path: Path) -> bool:
    """Tell whether `save_to_disk` wrote a folder."""
    return (path / SPLITS).exists() or all((path / name).exists() for name in ONE)


def from_disk(path: Path) -> Any:
    """Give the dataset that `save_to_disk` wrote into a folder."""
    try:
        import datasets
    except ImportError:
        raise ScopeError('saved datasets need: pip install "scopefl[hub]"') from None
    if (path / SPLITS).exists():
        splits = sorted(one.name for one in path.iterdir() if is_saved(one))
        raise ScopeError(
            f"{shown(path)} must be one split of a saved dataset: give one of its folders, "
            f"{', '.join(splits)}"
        )
    try:
        return datasets.load_from_disk(str(path))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ScopeError(f"{shown(path)} cannot be opened as a dataset: {plain(error)}") from None


class HubSource:
    """The rows of a `datasets.Dataset`, numbered in its own order."""

    def __init__(
        self, dataset: Any, *, image_column: str = "image", label_column: str | None = None
    ) -> None:
        import datasets

        if not isinstance(dataset, datasets.Dataset):
            raise ScopeError(
                f"a {type(dataset).__name__} has no fixed rows: pass one split of it that is "
                "loaded as a datasets.Dataset"
            )
        self._require(dataset, image_column)
        if label_column is not None:
            self._require(dataset, label_column)
        label_column = label_column or ("label" if "label" in dataset.column_names else None)
        feature = dataset.features[image_column]
        if isinstance(feature, datasets.Image):
            dataset = dataset.cast_column(image_column, datasets.Image(decode=False))
        kind = dataset.features.get(label_column) if label_column else None
        names = tuple(kind.names) if isinstance(kind, datasets.ClassLabel) else None
        self.name = dataset.info.dataset_name or "dataset"
        self.classes: tuple[str, ...] | None = names
        self._images = dataset.with_format(None).select_columns([image_column])
        self._column = image_column
        self._labels = None if label_column is None else dataset.with_format(None)[label_column]

    def __len__(self) -> int:
        return len(self._images)

    def __iter__(self) -> Iterator[Item]:
        labels = [None] * len(self) if self._labels is None else self._labels
        for row, label in enumerate(labels):
            name = f"row-{row:08}"
            yield Item(name, name, self._label(label), partial(self._read, row))

    def _label(self, label: Any) -> str | None:
        if label is None or self.classes is None:
            return None if label is None else str(label)
        return self.classes[label] if 0 <= label < len(self.classes) else None

    def _read(self, row: int) -> Any:
        cell = self._images[row][self._column]
        if cell is None:
            raise Unreadable("the row holds no image")
        if isinstance(cell, bytes):
            return cell
        if not isinstance(cell, dict):
            return np.asarray(cell)
        if cell.get("bytes") is not None:
            return cell["bytes"]
        if cell.get("path") is None:
            raise Unreadable("the row holds no image")
        return read_file(Path(cell["path"]))

    @staticmethod
    def _require(dataset: Any, column: str) -> None:
        if column not in dataset.column_names:
            known = ", ".join(dataset.column_names)
            raise ScopeError(f"the dataset has no column {column!r}: it has {known}")
