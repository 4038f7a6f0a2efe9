"""Which model updates may be averaged: finite, of one form, and from a site that has samples."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from flwr.app import ArrayRecord, Message, RecordDict

from scopefl.federation.flower.admission import cause

Form = tuple[tuple[str, tuple[str, ...]], ...]


def usable(
    replies: Sequence[Message], asked: Mapping[str, str], weight: str | None
) -> tuple[list[Message], dict[str, str]]:
    """Part the updates to average from the sites that sent none, or a bad one, with the causes.

    `asked` names the site behind each question's message id; `weight` is the metric to weigh by.
    """
    usual = _usual_form(replies)
    good: list[Message] = []
    absent = dict.fromkeys(asked.values(), "no answer before the deadline")
    for reply in replies:
        site = asked.get(reply.metadata.reply_to_message_id)
        if site is None:
            continue
        why = _fault(reply, usual, weight)
        if why:
            absent[site] = why
        elif absent.pop(site, None):
            good.append(reply)
    return good, absent


def _fault(reply: Message, usual: Form, weight: str | None) -> str:
    if reply.has_error():
        return f"failed: {cause(reply)}"
    content = reply.content
    if _form(content) != usual:
        return "sent records or keys unlike those of the other sites"
    broken = [name for record in content.array_records.values() for name in _not_finite(record)]
    if broken:
        return f"sent NaN or infinity in {broken[0]}"
    for metrics in content.metric_records.values():
        value = metrics.get(weight, 1) if weight else 1
        if isinstance(value, list) or not (math.isfinite(value) and value >= 0):
            return f"sent {weight} = {value}"
    return ""


def _not_finite(record: ArrayRecord) -> list[str]:
    found = []
    for name, array in record.items():
        values = array.numpy()
        if values.dtype.kind in "fc" and not np.isfinite(values).all():
            found.append(name)
    return found


def _usual_form(replies: Sequence[Message]) -> Form:
    forms = Counter(_form(reply.content) for reply in replies if reply.has_content())
    return forms.most_common(1)[0][0] if forms else ()


def _form(content: RecordDict) -> Form:
    """Name every record and its keys, in an order of their own."""
    arrays = {name: tuple(sorted(record)) for name, record in content.array_records.items()}
    metrics = {name: tuple(sorted(record)) for name, record in content.metric_records.items()}
    return (*sorted(arrays.items()), *sorted(metrics.items()))
