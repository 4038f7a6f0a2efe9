"""A secure round by file through the command line, and the audit before it."""

import pytest
from click.testing import CliRunner

pytest.importorskip("cryptography")

from scopefl.cli.main import scope
from scopefl.data.scores_file import write_scores
from tests.federation.rounds import NAMES, scores_of


def run(*arguments, code=0):
    result = CliRunner().invoke(scope, [str(one) for one in arguments])
    assert result.exit_code == code, result.output
    return result.output


def prepared(folder, mode):
    for seed, name in enumerate(NAMES):
        write_scores(scores_of(seed), folder / f"{name}.scores")
        run("keys", "new", folder / name, "--name", name)
    public = [folder / name / "site.pub" for name in NAMES]
    scores, call = folder / "north.scores", folder / "call.json"
    told = run("call", *public, "--run", "r", "--mode", mode, "--scores", scores,
               "--images", 1000, "-o", call)  # fmt: skip
    assert mode in told
    return call


def test_a_secure_round_by_file(tmp_path):
    call, masks = prepared(tmp_path, "secure-sum"), tmp_path / "r.roster"
    offers = [tmp_path / f"{name}.offer" for name in NAMES]
    for name, offer in zip(NAMES, offers, strict=True):
        run("keys", "offer", tmp_path / name, call, "-o", offer)
    assert "attempt 1 with 3 sites" in run("roster", call, *offers, "-o", masks)
    answers = []
    for name in NAMES:
        answers.append(tmp_path / f"{name}.profile")
        run("profile", tmp_path / f"{name}.scores", "--mode", "secure-sum", "--call", call,
            "--site", tmp_path / name, "--roster", masks, "-o", answers[-1])  # fmt: skip
    policy = tmp_path / "policy.scope"
    assert "3 of 3 sites" in run("merge", *answers, "--call", call, "-o", policy)
    transcript = tmp_path / "policy.scope.transcript"
    receipts = [tmp_path / f"{name}.receipt" for name in NAMES]
    for name, receipt in zip(NAMES, receipts, strict=True):
        run("keys", "receipt", tmp_path / name, call, policy, transcript, "-o", receipt)
    assert "all 3 sites were told" in run("keys", "compare", call, *receipts)
    assert "epsilon spent: 0 (no limit)" in run("keys", "ledger", tmp_path / "north")
    run("select", tmp_path / "north.scores", "--policy", policy, "-o", tmp_path / "north.coreset")
    assert "secure-sum lets nobody see" in run(
        "merge", *answers, "--call", call, "--influence", "-o", policy, code=5
    )


def test_merging_without_a_call_prints_influence_and_takes_the_median(tmp_path):
    prepared(tmp_path, "min-cell")
    files = []
    for name in NAMES:
        files.append(tmp_path / f"{name}.profile")
        run("profile", tmp_path / f"{name}.scores", "--mode", "min-cell", "-o", files[-1])
    told = run("merge", *files, "--expect", 3, "--influence", "--robust",
               "-o", tmp_path / "p.scope")  # fmt: skip
    assert "what each site moves" in told


def test_the_audit_names_the_images_that_open_gives_away(tmp_path):
    file = scores_of(0, n=12)
    rare = file.classes[min(set(file.labels.tolist()), key=file.labels.tolist().count)]
    path = tmp_path / "few.scores"
    write_scores(file, path)
    told = run("audit", path, code=5)
    assert rare in told
    assert "could be recovered" in told
    assert "no image was recovered" in run("audit", path, "--mode", "min-cell")
    run("profile", path, "-o", tmp_path / "few.profile")
    run("audit", tmp_path / "few.profile", code=5)


def test_the_audit_finds_what_came_since_the_last_profile(tmp_path):
    file = scores_of(0, n=300)
    write_scores(file, tmp_path / "now.scores")
    earlier = type(file)(file.table.slice(0, 299), file.classes, file.fingerprint)
    write_scores(earlier, tmp_path / "then.scores")
    run("profile", tmp_path / "then.scores", "-o", tmp_path / "then.profile")
    told = run("audit", tmp_path / "now.scores", "--before", tmp_path / "then.profile", code=5)
    assert "299" in told
    assert "since the last profile" in told


def test_the_epsilon_that_was_spent_is_told(tmp_path):
    pytest.importorskip("opendp")
    call = prepared(tmp_path, "local-dp")
    run("profile", tmp_path / "north.scores", "--mode", "local-dp", "--call", call,
        "--site", tmp_path / "north", "-o", tmp_path / "n.profile")  # fmt: skip
    assert "epsilon spent: 1.000" in run("keys", "ledger", tmp_path / "north")


def test_a_call_without_keys_is_a_usage_error(tmp_path):
    call = prepared(tmp_path, "open")
    scores, out = tmp_path / "north.scores", tmp_path / "p"
    assert "give --call and --site" in run("profile", scores, "--call", call, "-o", out, code=2)
    told = run("profile", scores, "--mode", "local-dp", "-o", out, code=2)
    assert "spends epsilon, which a ledger limits" in told
    assert not out.exists()


def test_groups_that_were_each_summed_securely_are_merged_by_their_median(tmp_path):
    policies = []
    for group in "abc":
        (tmp_path / group).mkdir()
        files = []
        for seed in range(3):
            path = tmp_path / group / f"{seed}.profile"
            path.write_bytes(scores_of(ord(group) + seed).profile.to_bytes(b"kit"))
            files.append(path)
        policies.append(tmp_path / f"{group}.scope")
        run("merge", *files, "--expect", 3, "-o", policies[-1])
    told = run("merge", *policies, "--robust", "--expect", 3, "-o", tmp_path / "policy.scope")
    assert "9 of 9 sites" in told
    assert "median of groups" in run("show", tmp_path / "policy.scope")
    run("merge", *policies, "-o", tmp_path / "no.scope", code=2)
