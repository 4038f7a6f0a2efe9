"""A small site for the tests of streams: pictures, a tiny kit, and what the batch makes of them."""

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner
from PIL import Image

from scopefl.cli.main import scope
from scopefl.core.policy import agree
from scopefl.data.coreset_file import write_coreset
from scopefl.data.opening import open_source
from scopefl.data.rules import DecodingRules
from scopefl.federation.by_file import Rule, coreset
from scopefl.stream.stream import Plan, Stream
from scopefl.stream.watching import Pace, open_arrivals, watch
from scopefl.vision.scoring import embed_source, score_embedded, with_rules
from tests.vision import small

RULES = DecodingRules()
KIT = small.kit()
RULE = Rule("0.1", "0.5", prune_anyway=True)


def picture(number, side=16):
    """Give a picture that differs from those of other numbers in more than a pixel."""
    rng = np.random.default_rng(number)
    return rng.integers(0, 256, (side, side, 3), np.uint8)


def put(root, name, number):
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(picture(number)).save(path, compress_level=1)
    return path


def batch(images, work, rule=RULE, agreement=None, kit=KIT, **names):
    """Score and select as `scope score` and `scope select` do; give the coreset's bytes."""
    kit = with_rules(kit, RULES)
    embedded = embed_source(
        open_source(images, **names), kit, RULES, work / "batch", runtime="onnxruntime"
    )
    file, _ = score_embedded(embedded, RULES)
    agreement = agreement or agree([file.profile.to_bytes(kit.fingerprint)])
    write_coreset(coreset(file, agreement, rule, "site"), work / "batch.parquet")
    return (work / "batch.parquet").read_bytes()


def stream(work, clock=None, **plan):
    plan = {"rule": RULE, "client": "site", "coreset": work / "stream.parquet", **plan}
    return Stream(
        work / "state", KIT, Plan(**plan), rules=RULES, cache=work / "cache",
        runtime="onnxruntime", clock=clock,
    )  # fmt: skip


def watched(images, work, *, settle=0.0, **plan):
    """Watch a folder once, and give the events."""
    with stream(work, **plan) as opened:
        arrivals = open_arrivals(images, opened, settle)
        return list(watch(arrivals, opened, Pace(0.01, settle, 0.0, once=True)))


def command(images, work, kit, *more):
    arguments = [
        "watch", images, "--kit", kit, "--runtime", "onnxruntime", "--cache", work / "cache",
        "--state", work / "state", "--coreset", work / "stream.parquet", "--client", "site",
        "--prune-anyway", "--settle", "0", "--poll", "0.01", "--every", "0", *more,
    ]  # fmt: skip
    return [str(each) for each in arguments]


def run(*arguments):
    return CliRunner().invoke(scope, [str(each) for each in arguments])


def lines(output):
    return [json.loads(line) for line in output.splitlines() if line.startswith("{")]


def saved_kit(folder: Path) -> Path:
    KIT.save(folder)
    return folder
