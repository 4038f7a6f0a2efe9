"""Collections that are not one of the paper's: any source scopefl reads, or one of the hub."""

from pathlib import Path
from typing import Any

import numpy as np

from scopefl.data.datasets.dataset import Dataset, class_numbers
from scopefl.data.hub import HubSource
from scopefl.data.opening import open_source
from scopefl.data.source import Item, Source
from scopefl.errors import ScopeError

TESTED = ("test", "validation", "val")
"""What hubs call the part to test on, the first there is."""


def any_source(where: Path) -> Dataset:
    """Give the labelled items of a table, shards, an HDF5 file or whatever else can be opened."""
    return from_source(open_source(where))


def from_source(source: Source) -> Dataset:
    """Give the labelled items of any source; pictures are read when their pixels are asked for."""
    return _dataset(_labelled(source), source.classes)


def hub(where: Path) -> Dataset:
    """Give a data set of the Hugging Face hub by its name, or one saved in a folder."""
    parts = _parts(where)
    name = next((each for each in TESTED if each in parts), None)
    train = _hub_source(parts["train"] if "train" in parts else parts[next(iter(parts))])
    items = _labelled(train)
    if name is None or "train" not in parts:
        return _dataset(items, train.classes)
    held_out = _labelled(_hub_source(parts[name]))
    test = np.arange(len(items) + len(held_out)) >= len(items)
    return _dataset([*items, *held_out], train.classes, test)


def _labelled(source: Source) -> list[Item]:
    items = [item for item in source if item.label is not None]
    if not items:
        raise ScopeError(f"{source.name} must give labels, none of its {len(source)} items has one")
    return items


def _dataset(items: list[Item], classes: tuple[str, ...] | None, test: Any = None) -> Dataset:
    names = [str(item.label) for item in items]
    known = classes or tuple(sorted(set(names)))
    return Dataset(tuple(items), class_numbers(names, known), known, test=test)


def _parts(where: Path) -> dict[str, Any]:
    try:
        import datasets
    except ImportError:
        raise ScopeError(
            "a data set of the hub needs Hugging Face datasets; pip install scopefl[hub]"
        ) from None
    saved = any((where / mark).is_file() for mark in ("dataset_dict.json", "state.json"))
    try:
        found = datasets.load_from_disk(str(where)) if saved else datasets.load_dataset(str(where))
    except (OSError, ValueError) as error:
        raise ScopeError(
            f"{where} must be a data set's name on the hub or its folder ({error})"
        ) from error
    return dict(found) if isinstance(found, dict) else {"train": found}


def _hub_source(part: Any) -> HubSource:
    import datasets

    images = [n for n, kind in part.features.items() if isinstance(kind, datasets.Image)]
    labels = [n for n, kind in part.features.items() if isinstance(kind, datasets.ClassLabel)]
    if not (images and labels):
        raise ScopeError(
            f"the data set must have a column of images and one of classes, it has "
            f"{', '.join(part.column_names)}"
        )
    # Where there are finer and coarser classes, the finer ones come first.
    label = "label" if "label" in labels else labels[0]
    return HubSource(part, image_column=images[0], label_column=label)
