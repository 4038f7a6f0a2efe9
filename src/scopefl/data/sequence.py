"""Any torch-style dataset: `len(d)`, and `d[i]` that gives an image and a label."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from scopefl.data.source import Item
from scopefl.data.unreadable import Unreadable
from scopefl.errors import ScopeError


class SequenceSource:
    """The items of a dataset by position; labels come from `targets` where it has them.

    Without `targets` (or `labels`) an item is fetched when the loop reaches it, since its label
    is known only then, and kept until its `Item` is dropped. A tensor of 1 or 3 channels is taken
    as channel-first, which is torch's convention.
    """

    def __init__(self, dataset: Any) -> None:
        self.name = type(dataset).__name__
        self.classes = _class_names(dataset)
        self._dataset = dataset
        self._targets = _targets(dataset)

    def __len__(self) -> int:
        return len(self._dataset)

    def __iter__(self) -> Iterator[Item]:
        for position in range(len(self)):
            name = f"item-{position:08}"
            if self._targets is not None:
                label = self._label(self._targets[position])
                yield Item(name, name, label, partial(self._fetch, position))
                continue
            try:
                image, target = _pair(self._dataset[position])
            except Exception:
                # The label is out of reach with the image; reading again gives the reason.
                yield Item(name, name, None, partial(self._fetch, position))
            else:
                yield Item(name, name, self._label(target), partial(_raw, image))

    def _fetch(self, position: int) -> Any:
        return _raw(_pair(self._dataset[position])[0])

    def _label(self, target: Any) -> str | None:
        if target is None or isinstance(target, str):
            return target
        if isinstance(target, bool) or not hasattr(target, "__index__"):
            raise ScopeError(f"labels must be names or whole numbers, got {target!r}")
        number = int(target)
        if self.classes is None:
            return str(number)
        return self.classes[number] if 0 <= number < len(self.classes) else None


def _class_names(dataset: Any) -> tuple[str, ...] | None:
    names = getattr(dataset, "classes", None)
    if isinstance(names, list | tuple) and all(isinstance(name, str) for name in names):
        return tuple(names) or None
    return None


def _targets(dataset: Any) -> Any:
    for attribute in ("targets", "labels"):
        found = getattr(dataset, attribute, None)
        if found is not None and hasattr(found, "__len__") and len(found) == len(dataset):
            return found
    return None


def _pair(item: Any) -> tuple[Any, Any]:
    """Return the image and the label of what a dataset gives."""
    if isinstance(item, Mapping):
        if "image" not in item:
            raise Unreadable(f"the item has no 'image': it has {', '.join(map(str, item))}")
        return item["image"], item.get("label")
    if isinstance(item, tuple | list) and len(item) >= 2:
        return item[0], item[1]
    return item, None


def _raw(image: Any) -> Any:
    if hasattr(image, "detach"):
        values = np.asarray(image.detach().cpu())
        return values.transpose(1, 2, 0) if values.ndim == 3 and len(values) in (1, 3) else values
    return image
