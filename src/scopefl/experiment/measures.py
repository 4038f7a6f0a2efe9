"""What is measured of one run: every metric by name, as numbers JSON can hold."""

import math
from collections.abc import Sequence

import numpy as np

from scopefl.core.coreset import Selection
from scopefl.experiment.learning import Subject
from scopefl.experiment.scene import Scene
from scopefl.train import metrics
from scopefl.train.history import History
from scopefl.train.learner import Examples

Measures = dict[str, float | None]

CLOSE = 1e-12
"""What rounding alone may add to a distance between distributions."""


def measures(
    scene: Scene,
    subject: Subject,
    selections: Sequence[Selection],
    examples: Sequence[Examples],
    history: History,
) -> Measures:
    """Give every metric of a run that trained on `examples`; None where it does not apply."""
    found = _of_accuracy(scene, history)
    found |= _of_coreset(scene, selections)
    everything = subject.examples([np.ones_like(each.kept) for each in selections])
    weights, learner = history.weights, subject.learner
    before = metrics.heterogeneity(learner, weights, everything)
    after = metrics.heterogeneity(learner, weights, examples)
    found |= {"gamma_before": before, "gamma_after": after, "gamma_worse": float(after > before)}
    found |= _of_bias(scene, subject, selections, history)
    return {name: _finite(value) for name, value in found.items()}


def _of_accuracy(scene: Scene, history: History) -> Measures:
    classes = metrics.thirds(scene.counts.sum(axis=0))
    tested = history.test_count > 0
    recall = np.array(history.evaluated[-1].correct)[tested] / history.test_count[tested]
    half = min(history.evaluated, key=lambda each: abs(each.number - len(history.rounds) / 2))
    everything = np.ones(len(history.test_count), bool)
    groups = {"head": classes.head, "tail": classes.tail, "accuracy": everything}
    halves = {n: metrics.accuracy_of(each, history, half.number) for n, each in groups.items()}
    trends = {
        name: metrics.trend(each, history, half.number, len(history.rounds))
        for name, each in groups.items()
    }
    return {
        "accuracy": metrics.final_accuracy(history),
        "balanced_accuracy": float(recall.mean()),
        "head": metrics.accuracy_of(classes.head, history),
        "medium": metrics.accuracy_of(classes.medium, history) if classes.medium.any() else None,
        "tail": metrics.accuracy_of(classes.tail, history),
        **{f"{name}_half": value for name, value in halves.items()},
        **{f"{name}_trend": value for name, value in trends.items()},
        "tail_to_head": metrics.tail_to_head(history.predictions, scene.test.labels, classes),
        "final_flip_rate": metrics.flip_rate(history),
        "samples_trained": float(history.samples),
    }


def _of_coreset(scene: Scene, selections: Sequence[Selection]) -> Measures:
    n_classes = scene.collection.n_classes
    before = scene.counts
    after = np.stack(
        [
            np.bincount(scene.labels[rows[s.kept]], minlength=n_classes)
            for rows, s in zip(scene.rows, selections, strict=True)
        ]
    )
    anomalous = np.zeros(len(scene.labels), bool)
    for rows, s in zip(scene.rows, selections, strict=True):
        anomalous[rows] = s.anomalous
    found = metrics.filter_quality(anomalous, scene.flipped)
    moved = metrics.wasserstein(before), metrics.wasserstein(after)
    still_there = ~np.isnan(moved[1])
    return {
        "partition_retries": float(scene.retries),
        "kept": float(after.sum() / before.sum()),
        "imbalance_before": metrics.imbalance_ratio(before.sum(axis=0)),
        "imbalance_after": metrics.imbalance_ratio(after.sum(axis=0)),
        "total_variation_before": float(np.nanmean(metrics.total_variation(before))),
        "total_variation_after": float(np.nanmean(metrics.total_variation(after))),
        "wasserstein_before": float(np.nanmean(moved[0])),
        "wasserstein_after": float(np.nanmean(moved[1])),
        "wasserstein_worse": float((moved[1] > moved[0] + CLOSE)[still_there].mean()),
        "anomaly_precision": found.precision,
        "anomaly_recall": found.recall,
    }


def _of_bias(
    scene: Scene, subject: Subject, selections: Sequence[Selection], history: History
) -> Measures:
    biases = [
        metrics.gradient_bias(
            subject.learner, history.weights, subject.train[rows], ~scene.flipped[rows], s.kept
        )
        for rows, s in zip(scene.rows, selections, strict=True)
        if scene.flipped[rows].any() and s.kept.any() and not scene.flipped[rows].all()
    ]
    if not biases:
        return dict.fromkeys(("bias_before", "bias_after", "bias_worse"))
    return {
        "bias_before": float(np.mean([bias.raw for bias in biases])),
        "bias_after": float(np.mean([bias.kept for bias in biases])),
        "bias_worse": float(np.mean([bias.kept > bias.raw for bias in biases])),
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
