"""What `scope report` reads: coreset files with what belongs to their rows, and images."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.data.coreset_file import read_coreset
from scopefl.data.decoding import DecodingRules, Unreadable, decode, raw_of
from scopefl.data.embeddings import read_array
from scopefl.data.files import file_sha256
from scopefl.data.opening import open_source
from scopefl.data.truth import read_truth
from scopefl.report.collection import Pixels, Site


def read_sites(
    coresets: Sequence[Path],
    *,
    embeddings: Sequence[Path] = (),
    truth: Sequence[Path] = (),
    images: Sequence[Path] = (),
) -> list[Site]:
    """Read coresets; the other files are one a coreset, or none at all."""
    sites = []
    for place, path in enumerate(coresets):
        coreset = read_coreset(path)
        sites.append(
            Site(
                coreset,
                file=path.name,
                sha256=file_sha256(path),
                embeddings=read_array(embeddings[place]) if embeddings else None,
                truth=read_truth(truth[place], coreset.scores_file) if truth else None,
                pixels=pixels_of(images[place], coreset.settings) if images else None,
            )
        )
    return sites


def pixels_of(images: Path, settings: Mapping[str, Any]) -> Pixels:
    """Find a site's images in its collection, decoded by the rules they were scored with."""
    items = {item.id: item for item in open_source(images)}
    rules = rules_of(settings)

    def pixels(name: str, _path: str | None) -> NDArray[np.uint8] | None:
        if name not in items:
            return None
        try:
            return decode(raw_of(items[name]), rules).pixels
        except Unreadable:
            return None

    return pixels


def rules_of(settings: Mapping[str, Any]) -> DecodingRules:
    """Read the decoding rules that scoring recorded as {"decoding": rules.canonical()}.

    >>> rules_of({"decoding": DecodingRules(window=(0, 4095)).canonical()}).window
    (0.0, 4095.0)
    """
    given = settings.get("decoding") or {}
    known = {field.name for field in fields(DecodingRules)}
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in given.items()
        if name in known
    }
    return DecodingRules(**values)
