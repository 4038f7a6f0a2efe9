"""From class names to prototypes: the paper's five sentences, averaged, then made unit length."""

import re
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import nfc
from scopefl.errors import ScopeError

TEMPLATES = (
    "a photo of a {class_name}.",
    "a clear image of a {class_name}.",
    "a close-up of a {class_name}.",
    "a representation of the {class_name}.",
    "a good photo of the {class_name}.",
)
SLOT = "{class_name}"
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
"""What could write to a terminal more than it says."""
MAX_CLASSES = 100_000

TextEmbedder = Callable[[list[str]], NDArray[np.float32]]
"""Sentences to rows of length D."""


def check_classes(names: Sequence[str]) -> tuple[str, ...]:
    """Give the class names in their order and in NFC, or say which rule they break."""
    classes = nfc([name.strip() for name in names])
    if not 2 <= len(classes) <= MAX_CLASSES:
        raise ScopeError(
            f"a kit needs at least 2 classes and at most {MAX_CLASSES}, got {len(classes)}: "
            "S_neg compares a class with its rivals"
        )
    if not all(classes):
        raise ScopeError("every class name must have at least one letter, one is empty")
    _refuse_control("a class name", classes)
    if len(set(classes)) < len(classes):
        twice = next(name for name in classes if classes.count(name) > 1)
        raise ScopeError(f"class names must differ, {twice!r} is given twice")
    return classes


def check_templates(templates: Sequence[str]) -> tuple[str, ...]:
    """Give the prompt templates in NFC, or name the one that has no place for the class."""
    if not templates:
        raise ScopeError("at least one prompt template must be given")
    for template in templates:
        if template.count(SLOT) != 1:
            raise ScopeError(f"a prompt must hold {SLOT} once, got {template!r}")
    _refuse_control("a prompt", templates)
    return nfc(templates)


def _refuse_control(what: str, texts: Sequence[str]) -> None:
    for text in texts:
        if CONTROL.search(text):
            raise ScopeError(f"{what} must hold no control characters, got {text!r}")


def sentences(class_name: str, templates: Sequence[str] = TEMPLATES) -> list[str]:
    """Give the sentences about one class.

    >>> sentences("cat")[0]
    'a photo of a cat.'
    """
    return [template.replace(SLOT, class_name) for template in templates]


def text_prototypes(
    embed: TextEmbedder, classes: Sequence[str], templates: Sequence[str] = TEMPLATES
) -> NDArray[np.float32]:
    """Give a (C, D) unit row a class: the mean over its sentences, normalised after averaging."""
    means = np.stack([embed(sentences(name, templates)).mean(axis=0) for name in classes])
    lengths = np.linalg.norm(means, axis=1, keepdims=True)
    if not (np.isfinite(lengths).all() and (lengths > 0).all()):
        raise ScopeError("the text tower gave no finite direction for a class; check its weights")
    unit: NDArray[np.float32] = (means / lengths).astype(np.float32)
    return unit
