"""Centroids summed under masks: the open sum where three sites hold a class, and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("cryptography")

from scopefl import FingerprintError, RefusedError
from scopefl.cli.main import scope
from scopefl.core.terms import Terms
from scopefl.federation import class_sums
from scopefl.federation.offers import roster_of
from scopefl.vision.prototypes import UNIT, Centroids, leave_one_out
from tests.federation.rounds import KIT, NAMES, collaboration

SECURE = Terms.of("secure-sum")


def embedded(seed, labels):
    rows = np.random.default_rng(seed).standard_normal((len(labels), 8))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def held(labels=((0, 0, 1, 2), (0, 1, 1, 2), (0, 1, 1, 1))):
    """Give three sites' rows and labels; two of them hold class 2, one image each."""
    return [(embedded(seed, y), np.array(y)) for seed, y in enumerate(labels)]


def shared(sites, call, found, attempt=1, after=None):
    roster = roster_of([site.offer(call, attempt) for site in sites.values()], call, after)
    messages = [
        class_sums.share(one, KIT, call, site, roster)
        for one, site in zip(found, sites.values(), strict=True)
    ]
    return messages, roster


def test_the_masked_sum_is_the_open_one_where_three_sites_hold_the_class(tmp_path):
    sites, call = collaboration(tmp_path, SECURE)
    found = [Centroids.of(rows, y, 3) for rows, y in held()]
    told = class_sums.merge(shared(sites, call, found)[0], call)
    opened = found[0] + found[1] + found[2]
    assert told.count.tolist() == [4, 6, 0]
    assert np.array_equal(told.sums[:2], opened.sums[:2])
    assert not told.sums[2].any()


def test_samples_of_a_class_that_is_not_told_score_as_if_alone(tmp_path):
    sites, call = collaboration(tmp_path, SECURE)
    found = [Centroids.of(rows, y, 3) for rows, y in held()]
    told = class_sums.merge(shared(sites, call, found)[0], call)
    rows, labels = held()[0]
    scores = leave_one_out(rows, labels, told)
    assert scores.rs[3] == 0
    assert set(scores.rival.tolist()) <= {0, 1}
    others = (told.sums.sum(axis=0) / UNIT - rows[0]) / 9
    own = (told.sums[0] / UNIT - rows[0]) / 3 - others
    x = rows[0] - others
    expected = x @ own / np.linalg.norm(x) / np.linalg.norm(own)
    assert scores.rs[0] == pytest.approx(expected, abs=1e-5)


def test_no_embedding_of_a_single_image_is_seen(tmp_path):
    sites, call = collaboration(tmp_path, SECURE)
    found = [Centroids.of(rows, y, 3) for rows, y in held()]
    message = shared(sites, call, found)[0][0]
    assert found[0].sums[2].astype("<i8").tobytes() not in message
    assert found[0].sums.T.astype("<i8").tobytes()[:64] not in message


def test_a_drop_out_another_attempt_kit_or_mode_is_refused(tmp_path):
    sites, call = collaboration(tmp_path / "a", SECURE)
    found = [Centroids.of(rows, y, 3) for rows, y in held()]
    first, roster = shared(sites, call, found)
    with pytest.raises(RefusedError, match="3 sites and 2 of them came"):
        class_sums.merge(first[:2], call)
    second, _ = shared(sites, call, found, attempt=2, after=roster)
    with pytest.raises(RefusedError, match="not all of one attempt"):
        class_sums.merge([*first[:2], second[2]], call)
    with pytest.raises(RefusedError, match="answers another call"):
        class_sums.merge(first, replace(call, round=2))
    with pytest.raises(FingerprintError, match="these centroids are of"):
        class_sums.share(found[0], b"otherkit", call, sites["north"], roster)
    others, opened = collaboration(tmp_path / "b", Terms())
    with pytest.raises(RefusedError, match="centroids can be summed in secure-sum"):
        class_sums.share(found[0], KIT, opened, others["north"], roster)


def run(*arguments, code=0):
    result = CliRunner().invoke(scope, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result.output


def test_a_round_of_masked_centroids_by_file(tmp_path):
    (tmp_path / "names.txt").write_text("a\nb\nc\n")
    common = ("--classes", tmp_path / "names.txt", "--encoder", "x")
    for name, (rows, labels) in zip(NAMES, held(), strict=True):
        np.save(tmp_path / f"{name}.npy", rows)
        (tmp_path / f"{name}.txt").write_text("".join("abc"[y] + "\n" for y in labels))
        run("keys", "new", tmp_path / name, "--name", name)
    make = {
        name: ("centroids", "make", "--embeddings", tmp_path / f"{name}.npy", "--labels",
               tmp_path / f"{name}.txt", *common, "-o", tmp_path / f"{name}.centroids")
        for name in NAMES
    }  # fmt: skip
    run(*make["north"])
    call, masks = tmp_path / "call.json", tmp_path / "1.roster"
    public = [tmp_path / name / "site.pub" for name in NAMES]
    run("call", *public, "--run", "r", "--mode", "secure-sum", "--scores",
        tmp_path / "north.centroids", "--images", 100, "-o", call)  # fmt: skip
    for name in NAMES:
        run("keys", "offer", tmp_path / name, call, "-o", tmp_path / f"{name}.offer")
    run("roster", call, *(tmp_path / f"{name}.offer" for name in NAMES), "-o", masks)
    assert "give --site and --roster" in run(*make["north"], "--call", call, code=2)
    for name in NAMES:
        run(*make[name], "--call", call, "--site", tmp_path / name, "--roster", masks)
    sent = [tmp_path / f"{name}.centroids" for name in NAMES]
    told = run("centroids", "merge", *sent, "--call", call, "-o", tmp_path / "all.centroids")
    assert "10 samples of 3 sites" in told
    run("centroids", "score", tmp_path / "all.centroids", "--embeddings", tmp_path / "north.npy",
        "--labels", tmp_path / "north.txt", *common, "-o", tmp_path / "n.parquet")  # fmt: skip
