"""The server: the sites agree on their coresets, then any Flower strategy trains on them."""

import json
from pathlib import Path

from flwr.app import ArrayRecord, Context, MetricRecord, RecordDict
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg

from scopefl.federation.by_file import parse_expected
from scopefl.federation.flower import Rule, Scope, ScopeResult
from scopefl.train.plan import Purpose

from . import task

app = ServerApp()


@app.main()
def main(grid: Grid, context: Context) -> None:
    """Run the profile round and the training rounds."""
    config = context.run_config
    learner, plan, test = task.learner(config), task.plan(config), task.test_data(config)
    rule = Rule(
        p_l=str(config["p-l"]),
        p_f=str(config["p-f"]),
        beta=float(config["beta"]),
        keep=str(config["keep"]) or None,
        run=str(config["run"]),
    )
    strategy = Scope(
        FedAvg(
            fraction_train=plan.fraction,
            fraction_evaluate=0.0,
            min_train_nodes=1,
            min_available_nodes=1,
            train_metrics_aggr_fn=totals,
        ),
        expect=parse_expected(str(config["expect"])) or 1,
        quorum=int(config["quorum"]) or None,
        rule=rule,
        gamma=float(config["gamma"]),
        timeout=float(config["profile-timeout"]),
        masked=bool(config["masked"]),
        robust=bool(config["robust"]),
        call=str(config["call"]) or None,
    )

    def evaluate(_: int, arrays: ArrayRecord) -> MetricRecord | None:
        if test is None:
            return None
        right = learner.predict(arrays.to_numpy_ndarrays(), test.x) == test.y
        return MetricRecord({"accuracy": float(right.mean())})

    result = strategy.start(
        grid,
        ArrayRecord(learner.start(plan.rng(Purpose.START))),
        num_rounds=plan.rounds,
        timeout=float(config["train-timeout"]),
        evaluate_fn=evaluate,
    )
    if config["out"]:
        write(result, Path(str(config["out"])))


def totals(replies: list[RecordDict], _: str) -> MetricRecord:
    """Add up what the sites hold and what they trained on."""
    reports = [reply.metric_records["metrics"] for reply in replies]
    kept = sum(int(str(report["num-examples"])) for report in reports)
    images = sum(int(str(report["images"])) for report in reports)
    return MetricRecord({"images": images, "kept": kept, "kept-fraction": kept / max(images, 1)})


def write(result: ScopeResult, out: Path) -> None:
    """Write what the sites agreed on, who they were, and how training went."""
    if result.agreement is None or result.coverage is None:
        raise ValueError("a finished run has an agreement")
    out.mkdir(parents=True, exist_ok=True)
    (out / "policy.scope").write_bytes(result.agreement.to_bytes())
    about = {
        "sites": list(result.coverage.sites),
        "expected": result.coverage.expected,
        "absent": dict(result.coverage.absent),
        "train": {k: dict(v) for k, v in result.train_metrics_clientapp.items()},
        "test": {k: dict(v) for k, v in result.evaluate_metrics_serverapp.items()},
    }
    (out / "result.json").write_text(json.dumps(about, indent=2))
