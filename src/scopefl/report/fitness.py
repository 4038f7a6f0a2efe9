"""Whether the encoder can tell these classes apart, as it was measured when they were scored."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scopefl.vision.fitness import WELL

COLUMNS = ("name", "samples", "recall", "margin", "auc", "confused_with")
MOST_NAMED = 5


@dataclass(frozen=True)
class Finding:
    """The verdict on an encoder at some clients, and its numbers a class."""

    clients: str
    fit: bool
    sentence: str
    rows: Sequence[Mapping[str, Any]]


def findings(settings: Mapping[str, Mapping[str, Any]]) -> list[Finding]:
    """Read the fitness that scoring recorded at each client; those that agree are told once."""
    by_finding: dict[str, list[str]] = {}
    for client, given in settings.items():
        if isinstance(given.get("fitness"), Mapping):
            by_finding.setdefault(json.dumps(given["fitness"]), []).append(client)
    return [_finding(json.loads(text), clients) for text, clients in by_finding.items()]


def _finding(found: Mapping[str, Any], clients: Sequence[str]) -> Finding:
    classes = found.get("classes", [])
    listed = classes if isinstance(classes, list) else []
    rows = [{name: row.get(name) for name in COLUMNS} for row in listed if isinstance(row, dict)]
    named = ", ".join(clients[:MOST_NAMED]) + (" ..." if len(clients) > MOST_NAMED else "")
    sentence = str(found.get("sentence", "no verdict was recorded"))
    return Finding(named, found.get("verdict") == WELL, sentence, rows)
