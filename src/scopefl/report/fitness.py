"""Whether the encoder can tell these classes apart, as the scores file says it was measured."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fitness:
    """The verdict on an encoder, and its numbers a class; `columns` names what each row holds."""

    clients: str
    fit: bool
    verdict: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


MOST_NAMED = 5


def fitness_of(settings: Mapping[str, Mapping[str, Any]]) -> list[Fitness]:
    """Read the fitness that scoring recorded at each client; those that agree are told once.

    It stands in a scores file's settings as {"fitness": {"fit", "verdict", "classes": [...]}}.
    """
    by_finding: dict[str, list[str]] = {}
    for client, given in settings.items():
        if isinstance(given.get("fitness"), Mapping):
            by_finding.setdefault(json.dumps(given["fitness"]), []).append(client)
    return [_fitness(json.loads(text), clients) for text, clients in by_finding.items()]


def _fitness(found: Mapping[str, Any], clients: Sequence[str]) -> Fitness:
    classes = found.get("classes", [])
    rows = [row for row in classes if isinstance(row, Mapping)] if _listed(classes) else []
    columns = sorted(rows[0], key=lambda name: (name != "class", name)) if rows else []
    verdict = str(found.get("verdict", "no verdict was recorded"))
    named = ", ".join(clients[:MOST_NAMED]) + (" ..." if len(clients) > MOST_NAMED else "")
    return Fitness(named, bool(found.get("fit", True)), verdict, columns, rows)


def _listed(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
