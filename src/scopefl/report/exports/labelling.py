"""The anomalies for programs in which people look again and relabel."""

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from scopefl import __version__
from scopefl.data.batches import Coreset
from scopefl.errors import ScopeError
from scopefl.report.collection import ANOMALOUS
from scopefl.report.exports.target import Target

MOST = 1_000_000


def anomalies(coreset: Coreset) -> list[dict[str, Any]]:
    """Give the rows of the anomalous samples, the most anomalous first."""
    count = coreset.fates["anomalous"]
    if count > MOST:
        raise ScopeError(
            f"people can look again at no more than {MOST:,} anomalies, there are {count:,}; "
            "select with a smaller p_l for this list"
        )
    parts = [part.table.filter(pa.array(part.fate == ANOMALOUS)) for part in coreset.batches()]
    table = pa.concat_tables(parts, promote_options="default")
    worst = np.argsort(-table["anomaly"].to_numpy(), kind="stable")
    found: list[dict[str, Any]] = table.take(pa.array(worst)).to_pylist()
    return [{**row, "path": row["path"] or row["id"]} for row in found]


def fiftyone(coreset: Coreset, target: Target) -> Iterator[str]:
    """Write labels.json of a FiftyOneImageClassificationDataset; the label is the suggestion."""
    labels = {
        target.locate(row["path"]): {
            "label": row["rival"],
            "confidence": round(float(np.clip((row["anomaly"] + 1) / 2, 0, 1)), 4),
            "attributes": {
                "label_now": row["label"],
                **{name: round(row[name], 6) for name in ("rs", "ds", "s_neg", "anomaly")},
                "why": row["why"],
            },
        }
        for row in anomalies(coreset)
    }
    yield _json({"classes": None, "labels": labels})


def label_studio(coreset: Coreset, target: Target) -> Iterator[str]:
    """Write tasks with the rival class as a prediction, for a project with Choices named label."""
    yield _json([_task(row, target) for row in anomalies(coreset)])


def _task(row: dict[str, Any], target: Target) -> dict[str, Any]:
    choice = {
        "from_name": "label",
        "to_name": "image",
        "type": "choices",
        "value": {"choices": [row["rival"]]},
    }
    return {
        "data": {
            "image": target.locate(row["path"]),
            "id": row["id"],
            "label_now": row["label"],
            "why": row["why"],
        },
        "predictions": [
            {
                "model_version": f"scopefl {__version__}",
                "score": round(row["anomaly"], 6),
                "result": [choice] if row["rival"] else [],
            }
        ],
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1) + "\n"
