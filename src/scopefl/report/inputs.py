"""What `scope report` reads: coreset files with what belongs to their rows, and images."""

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.policy import check_same_kit
from scopefl.data.batches import open_coreset
from scopefl.data.coreset_file import CoresetFile
from scopefl.data.decoding import DecodingRules, Unreadable, decode, raw_of
from scopefl.data.embeddings import read_array
from scopefl.data.files import file_sha256
from scopefl.data.opening import open_source
from scopefl.data.truth import read_truth
from scopefl.errors import ScopeError
from scopefl.report.collection import Pixels, Site
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.kit import OFFLINE, Kit
from scopefl.vision.runtimes import computing
from scopefl.vision.scoring import embed_source, unit_rows, with_rules


def read_sites(
    coresets: Sequence[Path],
    *,
    embeddings: Sequence[Path] = (),
    truth: Sequence[Path] = (),
    images: Sequence[Path] = (),
    kit: str | None = None,
) -> list[Site]:
    """Read coresets; the others are one a coreset, or none at all; `kit` gives embeddings."""
    sites = []
    for place, path in enumerate(coresets):
        coreset = open_coreset(path)
        rows = read_array(embeddings[place]) if embeddings else None
        if kit and images and rows is None:
            if not isinstance(coreset, CoresetFile):
                raise ScopeError(
                    f"{path} has {coreset.rows} rows, too many to embed again for a map; give what "
                    "there is by --embeddings, or leave out --kit"
                )
            rows = embedded(images[place], kit, coreset)
        sites.append(
            Site(
                coreset,
                file=path.name,
                sha256=file_sha256(path),
                embeddings=rows,
                truth=read_truth(truth[place], coreset) if truth else None,
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


def embedded(images: Path, kit_name: str, coreset: CoresetFile) -> NDArray[np.float32]:
    """Give the embeddings of a coreset's scored rows again, from the cache that scoring filled."""
    rules = rules_of(coreset.settings)
    runtime = computing(coreset.settings.get("arithmetic", "f32"))
    kit = Kit.load(kit_name, coreset.classes if kit_name == OFFLINE else None)
    kit = with_rules(kit, rules, runtime)
    if coreset.settings.get("prototypes", "text") == "text":
        check_same_kit(coreset.fingerprint, kit.fingerprint, "the coreset", f"the kit {kit_name}")
    again = embed_source(open_source(images), kit, rules, cache_folder(), runtime=runtime)
    key_of = {one.id: one.key for one in again.outcomes}
    keys = [key_of.get(name) for name in coreset.scores_file.ids]
    found = [key for key in keys if key is not None]
    if len(found) < len(keys):
        raise ScopeError(
            f"{len(keys) - len(found)} of the coreset's {len(keys)} images are not in {images}; "
            "give the collection that was scored, or leave out --kit"
        )
    return unit_rows(again.cache, found)


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
