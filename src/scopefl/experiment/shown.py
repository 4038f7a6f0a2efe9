"""What a table can show of a run: every number by name, and what it means."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from scopefl.experiment.settings import check_name
from scopefl.train.cost import Cost

METRICS = {
    "accuracy": "top-1 on the test images, mean of the last 10 rounds",
    "balanced_accuracy": "mean over classes of the share of each that is right, last round",
    "head": "top-1 on the third of the classes that has most training images, last round",
    "medium": "the same for the classes between head and tail",
    "tail": "the same for the third that has fewest",
    "head_half": "head, after half of the rounds",
    "tail_half": "tail, after half of the rounds",
    "accuracy_half": "top-1 after half of the rounds, one round",
    "head_trend": "head at the end less head at half time",
    "tail_trend": "tail at the end less tail at half time",
    "accuracy_trend": "top-1 at the end less top-1 at half time, one round each",
    "tail_to_head": "share of the test images of tail classes taken for a head class",
    "final_flip_rate": "share of test predictions that change from round to round, last 10 rounds",
    "samples_trained": "training images seen, counted as often as they were seen",
    "kept": "share of the training images that is kept",
    "imbalance_before": "largest class over smallest, all clients together, before",
    "imbalance_after": "the same after; not defined where a class became empty",
    "partition_retries": "draws of clients thrown away because a client had too few images",
    "total_variation_before": "distance of a client's class shares from all clients', mean, before",
    "total_variation_after": "the same after",
    "wasserstein_before": "1-Wasserstein distance of the same shares, class numbers one apart",
    "wasserstein_after": "the same after",
    "wasserstein_worse": "share of the clients that the selection moves away (Lemma 2)",
    "gamma_before": "gradient heterogeneity Gamma of the clients' data, at the last weights",
    "gamma_after": "Gamma of the coresets",
    "gamma_worse": "share of the runs in which Gamma grows (Lemma 2)",
    "bias_before": "distance of a client's gradient from that of its clean images, mean, all data",
    "bias_after": "the same for what is kept",
    "bias_worse": "share of the clients where the selection makes it larger (Lemma 1)",
    "anomaly_precision": "of what was dropped as anomalous, the share truly mislabelled",
    "anomaly_recall": "of what was mislabelled, the share dropped as anomalous",
}
PERCENT = {
    "accuracy", "balanced_accuracy", "head", "medium", "tail", "tail_to_head", "kept",
    "head_half", "tail_half", "accuracy_half", "head_trend", "tail_trend", "accuracy_trend",
    "anomaly_precision", "anomaly_recall", "bias_worse", "gamma_worse", "wasserstein_worse",
}  # fmt: skip
"""Metrics that are shares and are shown in percent."""

COSTS = tuple(f"{of}_{each.name}" for of in ("choosing", "training") for each in fields(Cost))
MESSAGES = "choosing_message_up"
"""Bytes the clients send to choose, without the models of a warm-up."""

_REACHED = re.compile(r"(rounds|samples)_to_(\d+(?:\.\d+)?)")


def check_metric(name: str) -> None:
    """Refuse a metric that no run has."""
    if not _REACHED.fullmatch(name):
        check_name([*METRICS, *COSTS, MESSAGES], name, "[table] metrics")


def numbers(result: Mapping[str, Any] | None, wanted: Iterable[str]) -> dict[str, float]:
    """Give all numbers of a run that are defined, by name, and those that `wanted` derives."""
    if result is None:
        return {}
    costs = {f"{of}_{n}": v for of in ("choosing", "training") for n, v in result[of].items()}
    matches = filter(None, map(_REACHED.fullmatch, wanted))
    reached = {m[0]: _reached(m[1], float(m[2]) / 100, result["curve"]) for m in matches}
    return {n: v for n, v in (result["metrics"] | costs | reached).items() if v is not None}


def _reached(what: str, target: float, curve: Iterable[tuple[float, float, float]]) -> float | None:
    """Give the first evaluated round that reaches an accuracy, or the samples seen until then."""
    for number, samples, accuracy in curve:
        if accuracy >= target:
            return number if what == "rounds" else samples
    return None
