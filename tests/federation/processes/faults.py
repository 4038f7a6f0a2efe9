"""A mod for the app under test: sites that do what the run's `fault-SITE` says: `exit train`.

It is outermost, so that it sees what a site's machine would do to the app: it also notes which ids
the client trains on.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, MetricRecord

from scopefl.federation.flower.client import site_of

PATIENCE = 600


def mod(message, context, call_next):
    phase = message.metadata.message_type.split(".")[0]
    faults = str(context.run_config[f"fault-{site_of(context)}"]).split(", ")
    if f"exit {phase}" in faults:
        os._exit(1)
    if f"raise {phase}" in faults:
        raise ValueError("out of memory")
    if f"hang {phase}" in faults:
        hang(context)
    while f"hold {phase}" in faults and folder(context).joinpath("hold").exists():
        time.sleep(0.2)
    reply = call_next(message, context)
    if phase == "train":
        note_ids(context)
    if f"nan {phase}" in faults:
        arrays = reply.content["arrays"].to_numpy_ndarrays()
        reply.content["arrays"] = ArrayRecord([np.full_like(one, np.nan) for one in arrays])
    if f"keys {phase}" in faults:
        reply.content["metrics"] = MetricRecord({"num-examples": 1, "surprise": 1})
    if f"shape {phase}" in faults:
        reply.content["arrays"] = ArrayRecord([np.zeros(3), np.zeros(10)])
    if f"garbage {phase}" in faults:
        reply.content["scope"] = ConfigRecord({"profile": float("nan")})
    return reply


def hang(context):
    """Hang once: a site that lost power meanwhile and came back is well."""
    mark = folder(context).joinpath(f"hanging-{site_of(context)}")
    if not mark.exists():
        mark.write_text(str(os.getpid()))
        time.sleep(PATIENCE)


def note_ids(context):
    from .client_app import scope  # which imports this module

    ids = [str(one) for one in scope.coreset(context).ids]
    folder(context).joinpath(f"ids-{site_of(context)}.json").write_text(json.dumps(ids))


def folder(context):
    out = Path(str(context.run_config["out"]))
    out.mkdir(parents=True, exist_ok=True)
    return out
