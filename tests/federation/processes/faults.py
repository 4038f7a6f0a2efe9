"""A mod for the app under test: sites that do what the run's `fault-SITE` says, such as exit train.

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
    kind, _, when = str(context.run_config[f"fault-{site_of(context)}"]).partition(" ")
    if when == phase and kind in {"exit", "raise", "hang"}:
        {"exit": lambda: os._exit(1), "raise": fail, "hang": lambda: hang(context)}[kind]()
    reply = call_next(message, context)
    if phase == "train":
        note_ids(context)
    if when == phase and kind == "nan":
        reply.content["arrays"] = ArrayRecord([np.full((64, 10), np.nan), np.zeros(10)])
    if when == phase and kind == "keys":
        reply.content["metrics"] = MetricRecord({"num-examples": 1, "surprise": 1})
    return reply


def fail():
    raise ValueError("out of memory")


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
