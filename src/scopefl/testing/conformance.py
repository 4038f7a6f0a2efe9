"""The rules every source keeps, as a check a lab can run on its own source."""

from itertools import islice
from typing import Any

from scopefl.data.content import content_key
from scopefl.data.decoding import DecodingRules, Unreadable, raw_of
from scopefl.data.source import Item, Source

RULES = DecodingRules()


def check_source(source: Source, *, sample: int = 32) -> int:
    """Return how many items were read; raise AssertionError that lists every broken rule.

    Ids, labels and order are checked for all items, contents for the first `sample` of them.
    """
    broken = [*_shape_faults(source)]
    if not broken:
        broken += [
            f"it gives a {type(one).__name__}, not an Item"
            for one in source
            if not isinstance(one, Item)
        ]
    if not broken:
        first, second = list(source), list(source)
        broken += _count_faults(source, first)
        broken += _order_faults(first, second)
        broken += [fault for item in first for fault in _item_faults(item, source)]
        broken += _content_faults(first[:sample], list(islice(source, sample)))
    if broken:
        listed = "\n".join(f"- {fault}" for fault in dict.fromkeys(broken))
        raise AssertionError(f"{type(source).__name__} breaks the rules of a source:\n{listed}")
    return min(sample, len(source))


def _shape_faults(source: Any) -> list[str]:
    if not isinstance(source, Source):
        return ["it has no name, no classes, no __len__ or no __iter__"]
    faults = []
    if not isinstance(source.name, str) or not _is_text(source.name):
        faults.append("its name is not text")
    classes: Any = source.classes
    if classes is not None and not (
        isinstance(classes, tuple) and all(isinstance(one, str) for one in classes)
    ):
        faults.append("its classes are neither None nor a tuple of names")
    elif classes is not None and len(set(classes)) < len(classes):
        faults.append("two of its classes have one name")
    return faults


def _count_faults(source: Source, items: list[Item]) -> list[str]:
    faults = []
    if len(items) != len(source):
        faults.append(f"its length is {len(source)}, but it gives {len(items)} items")
    if len({item.id for item in items}) < len(items):
        faults.append("two of its items have one id")
    return faults


def _order_faults(first: list[Item], second: list[Item]) -> list[str]:
    same = [(one.id, one.path, one.label) for one in first] == [
        (one.id, one.path, one.label) for one in second
    ]
    return [] if same else ["a second loop gives other ids, paths or labels, or another order"]


def _item_faults(item: Item, source: Source) -> list[str]:
    faults = []
    if not isinstance(item.id, str) or not item.id or not _is_text(item.id):
        faults.append("an id is not text, or empty")
    if not isinstance(item.path, str) or not _is_text(item.path):
        faults.append("a path is not text")
    if item.label is not None and (not isinstance(item.label, str) or not _is_text(item.label)):
        faults.append("a label is neither None nor text")
    elif item.label is not None and item.label not in (source.classes or [item.label]):
        faults.append(f"the label {item.label!r} is not among its classes")
    if not callable(item.read):
        faults.append("an item has no read()")
    return faults


def _content_faults(first: list[Item], again: list[Item]) -> list[str]:
    """Read items after their loop has ended, out of order, twice, and in a second loop."""
    contents = [_content(item) for item in reversed(first)][::-1]
    faults = []
    if contents != [_content(item) for item in first]:
        faults.append("reading an item twice gives two contents: does it change images at random?")
    if contents != [_content(item) for item in again]:
        faults.append("a second loop reads other contents: does it change images at random?")
    faults += [one for one in contents if one.startswith("read() gives")]
    return faults


def _content(item: Item) -> str:
    """Return the content's key, or the reason there is none."""
    try:
        raw = raw_of(item)
    except Unreadable as unreadable:
        return f"unreadable: {unreadable.reason}"
    try:
        return content_key(raw, RULES)
    except Unreadable:
        return f"read() gives a {type(raw).__name__}, not file bytes, an array or a Pillow image"


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
