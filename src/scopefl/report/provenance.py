"""Where a coreset came from: settings, versions, inputs, and the commands that make it again."""

import json
import platform
import shlex
from collections.abc import Sequence
from dataclasses import fields
from importlib.metadata import version
from typing import Any

from scopefl import __version__
from scopefl.federation.limits import Limits
from scopefl.report.collection import Site

SHOWN_SITES = 50
PACKAGES = ("numpy", "pyarrow", "altair", "vl-convert-python", "openTSNE")
FLAGS = {"p_l": "--p-l", "p_f": "--p-f", "beta": "--beta", "keep": "--keep", "run": "--run"}
LIMITS = frozenset(field.name for field in fields(Limits))
PER_SITE = frozenset({"client", "fitness"})


def settings_of(sites: Sequence[Site]) -> list[tuple[str, str]]:
    """Give every setting the sites share, and for each that differs the values there are."""
    names = {name: None for site in sites for name in site.coreset.settings}
    rows = []
    for name in names:
        if name in PER_SITE:
            continue
        values = {_text(site.coreset.settings.get(name)): None for site in sites}
        shown = list(values)
        rows.append((name, " | ".join(shown[:5]) + (" | ..." if len(shown) > 5 else "")))
    return rows


def commands(sites: Sequence[Site]) -> list[str]:
    """Give the commands that select the same coresets again."""
    return [_select(site) for site in sites[:SHOWN_SITES]]


def versions() -> list[tuple[str, str]]:
    """Name what made this page."""
    return [
        ("scopefl", __version__),
        ("Python", platform.python_version()),
        *((name, version(name)) for name in PACKAGES),
    ]


def _select(site: Site) -> str:
    settings = site.coreset.settings
    # By default a client is named after its scores file.
    scores = f"{site.client}.parquet"
    scores = f"{site.client}-scores.parquet" if scores == site.file else scores
    words = ["scope", "select", scores, "--policy", "policy.scope"]
    for name, flag in FLAGS.items():
        if settings.get(name) not in (None, ""):
            words += [flag, str(settings[name])]
    if settings.get("rule") == "budget":
        words += ["--client", site.client]
    if LIMITS & set(settings):
        words += ["--limits", "site.toml"]
    words += ["-o", site.file or "coreset.parquet"]
    return shlex.join(words)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return ", ".join(f"{name} {_text(one)}" for name, one in value.items() if one is not None)
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
