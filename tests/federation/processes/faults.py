"""A mod for the app under test: sites that do what the run's `fault-SITE` says: `exit train`.

It is outermost, so that it sees what a site's machine would do to the app: it also notes which ids
the client trains on.
"""

import json
import os
import time
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, MetricRecord

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
    reply = call_next(message, context)
    if phase == "train":
        note_ids(context)
    if f"nan {phase}" in faults:
        reply.content["arrays"] = ArrayRecord([np.full((64, 10), np.nan), np.zeros(10)])
    if f"keys {phase}" in faults:
        reply.content["metrics"] = MetricRecord({"num-examples": 1, "surprise": 1})
    return reply


def hang(context):
    folder(context).joinpath(f"hanging-{site_of(context)}").write_text(str(os.getpid()))
    time.sleep(PATIENCE)


def note_ids(context):
    from .client_app import scope  # which imports this module

    ids = [str(one) for one in scope.coreset(context).ids]
    folder(context).joinpath(f"ids-{site_of(context)}.json").write_text(json.dumps(ids))


def folder(context):
    out = Path(str(context.run_config["out"]))
    out.mkdir(parents=True, exist_ok=True)
    return out
