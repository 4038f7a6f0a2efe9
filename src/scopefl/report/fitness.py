"""Whether the encoder can tell these classes apart, as the scores file says it was measured."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Fitness:
    """The verdict on an encoder, and its numbers a class; `columns` names what each row holds."""

    client: str
    fit: bool
    verdict: str
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


def fitness_of(client: str, settings: Mapping[str, Any]) -> Fitness | None:
    """Read the fitness that scoring recorded, if it did: {"fit", "verdict", "classes": [...]}."""
    found = settings.get("fitness")
    if not isinstance(found, Mapping):
        return None
    classes = found.get("classes", [])
    rows = [row for row in classes if isinstance(row, Mapping)] if _listed(classes) else []
    columns = list(rows[0]) if rows else []
    verdict = str(found.get("verdict", "no verdict was recorded"))
    return Fitness(client, bool(found.get("fit", True)), verdict, columns, rows)


def _listed(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
