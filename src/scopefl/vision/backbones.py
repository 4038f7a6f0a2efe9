"""The encoders that a kit can be built from, as data."""

import difflib
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any

from scopefl.errors import ScopeError

DEFAULT = "mobileclip-s2"
UNPINNED = "unpinned"


@dataclass(frozen=True)
class Backbone:
    """One entry of backbones.toml; the fields are explained there."""

    name: str
    model: str
    pretrained: str
    source: str
    revision: str
    sha256: str
    licence: str
    megabytes: int
    pixels: int
    needs: str = ""
    architecture: dict[str, Any] = field(default_factory=dict)

    @property
    def pinned(self) -> bool:
        """True when the revision to download is written down."""
        return self.revision != UNPINNED


@cache
def backbones() -> dict[str, Backbone]:
    """Give every known backbone by name."""
    text = resources.files("scopefl.vision").joinpath("backbones.toml").read_text("utf-8")
    return {name: Backbone(name, **entry) for name, entry in tomllib.loads(text).items()}


def backbone(name: str) -> Backbone:
    """Give one backbone, or name those nearest to what was asked for."""
    known = backbones()
    if name not in known:
        near = difflib.get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise ScopeError(f"there is no backbone {name!r}; {hint}")
    return known[name]
