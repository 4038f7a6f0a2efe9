"""What a checkpoint notices: how the images of late differ from those before, and in a file."""

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from scopefl.core.policy import Policy
from scopefl.core.profile import Profile
from scopefl.data.files import write_bytes
from scopefl.stream.drift import Alarm, Drift, drift
from scopefl.stream.ledger import Row, labels_of, scores_of
from scopefl.stream.rows import UNKNOWN
from scopefl.stream.signs import Signs


def notice(
    rows: Sequence[Row], after: int, policy: Policy, against: Profile | None, classes: Sequence[str]
) -> tuple[Drift, list[Alarm]]:
    """Compare the rows numbered above `after` with the others; give what is an alarm.

    Means are compared with those of `against`, the profile of the sites' policy if there is one.
    """
    recent, earlier = (
        _signs([row for row in rows if (row.number > after) is late], policy)
        for late in (True, False)
    )
    found = drift(recent, earlier, against)
    alarms = found.alarms(tuple(classes))
    return found, alarms + _unknown([row for row in rows if row.number > after])


def write_drift(path: Path, found: Drift, alarms: Sequence[Alarm], classes: Sequence[str]) -> None:
    """Write a checkpoint's drift as JSON: the alarms, and every class's numbers behind them."""
    told = {
        "alarms": [vars(alarm) for alarm in alarms],
        "auc": found.auc,
        "classes": [_of_class(found, c, name) for c, name in enumerate(classes)],
    }
    write_bytes(path, json.dumps(told, indent=1, ensure_ascii=False).encode())


def _of_class(found: Drift, c: int, name: str) -> dict[str, Any]:
    shifts = {
        f"{metric} {unit}": None if np.isnan(values[row, c]) else float(values[row, c])
        for unit, values in (("sigmas", found.sigmas), ("standard errors", found.errors))
        for row, metric in enumerate(("RS", "S_neg"))
    }
    counts = {
        "recent": found.recent.profile.count[c],
        "earlier": found.earlier.profile.count[c],
        "strange": found.recent.strange[c],
        "strange before": found.earlier.strange[c],
    }
    return {"class": name, **{what: int(n) for what, n in counts.items()}, **shifts}


def _signs(rows: Sequence[Row], policy: Policy) -> Signs:
    scored = [row for row in rows if row.key is not None]
    if not scored:
        return Signs.empty(len(policy.weight))
    return Signs.of(scores_of(scored), labels_of(scored), policy)


def _unknown(rows: Sequence[Row]) -> list[Alarm]:
    """Tell of labels that the kit has no class for."""
    reasons = Counter(row.reason for row in rows if (row.reason or "").startswith(UNKNOWN))
    return [
        Alarm("new class", None, f"{count} recent images: {reason}")
        for reason, count in reasons.most_common()
    ]
