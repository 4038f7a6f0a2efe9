"""Which model updates may be averaged: finite, of one form, and together of some weight."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict

from scopefl.federation.flower.admission import cause

Form = tuple[tuple[str, tuple[tuple[str, str], ...]], ...]
"""Every record's name, and of each of its keys what kind of value it has."""


def usable(
    replies: Sequence[Message],
    asked: Mapping[str, str],
    weight: str | None,
    sent: ArrayRecord | None = None,
) -> tuple[list[Message], dict[str, str]]:
    """Part the updates to average from the sites that sent none, or a bad one, with the causes.

    `asked` names the site behind each question's message id; `weight` is the metric to weigh by;
    `sent` is the model that was to be trained: where two forms are equally usual, its is right.
    """
    usual = _usual_form(replies, sent)
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
        return "sent records, keys or shapes unlike those of the other sites"
    for record in content.array_records.values():
        for name, array in record.items():
            if found := _fault_of(array):
                return f"sent {found} in {name}"
    for metrics in content.metric_records.values():
        value = metrics.get(weight, 1) if weight else 1
        if isinstance(value, list) or not (math.isfinite(value) and value >= 0):
            return f"sent {weight} = {value}"
    return ""


def _fault_of(array: Array) -> str:
    try:
        values = array.numpy()
    except Exception:  # numpy's reader raises many kinds: of form, of syntax, of memory
        return "bytes that are no array"
    if str(values.dtype) != array.dtype or values.shape != tuple(array.shape):
        return "an array unlike its own description"
    if values.dtype.kind in "fc" and not np.isfinite(values).all():
        return "NaN or infinity"
    return ""


def weighs_nothing(replies: Sequence[Message], weight: str | None) -> bool:
    """Tell whether these updates have no mean, since every one of them counts zero samples."""
    records = [metrics for reply in replies for metrics in reply.content.metric_records.values()]
    return bool(weight) and all(metrics.get(str(weight), 1) == 0 for metrics in records)


def _usual_form(replies: Sequence[Message], sent: ArrayRecord | None) -> Form:
    forms = Counter(_form(reply.content) for reply in replies if reply.has_content())
    model = None if sent is None else _arrays(sent)
    alike = {form: any(keys == model for _, keys in form) for form in forms}
    return max(forms, key=lambda form: (forms[form], alike[form]), default=())


def _form(content: RecordDict) -> Form:
    """Describe every record and its keys, in an order of their own."""
    arrays = [(name, _arrays(record)) for name, record in content.array_records.items()]
    metrics = [(name, _metrics(record)) for name, record in content.metric_records.items()]
    return (*sorted(arrays), *sorted(metrics))


def _arrays(record: ArrayRecord) -> tuple[tuple[str, str], ...]:
    # Trees travel as bytes (FedXgbBagging), of which each site has its own number.
    return tuple(
        sorted(
            (name, "bytes" if array.dtype == "uint8" else f"array {tuple(array.shape)}")
            for name, array in record.items()
        )
    )


def _metrics(record: MetricRecord) -> tuple[tuple[str, str], ...]:
    return tuple(
        sorted(
            (name, f"list of {len(value)}" if isinstance(value, list) else "number")
            for name, value in record.items()
        )
    )
