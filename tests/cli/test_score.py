"""`scope score` in real processes on real files: the zoo, killed runs, full disks, two at once."""

import json
import os
import resource
import signal
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest
import tifffile
from click.testing import CliRunner
from PIL import Image

from scopefl.cli.main import scope
from scopefl.cli.score import parse_shard
from scopefl.data.names import escape
from scopefl.data.scores_file import read_scores
from scopefl.errors import ScopeError
from scopefl.testing.zoo import exhibits
from tests.vision import small

ROOT = Path(__file__).parents[2]
SCOPE = (sys.executable, "-m", "scopefl")


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kits") / "tiny"
    small.kit().save(folder)
    return folder


@pytest.fixture(scope="module")
def images(tmp_path_factory):
    return small.folder(tmp_path_factory.mktemp("images") / "site")


@pytest.fixture
def flags(kit, tmp_path):
    return ("--kit", kit, "--runtime", "onnxruntime", "--cache", tmp_path / "cache")


def run(*arguments):
    return CliRunner().invoke(scope, [str(each) for each in arguments])


def process(*arguments, **options):
    command = [*SCOPE, *map(str, arguments)]
    environment = {**os.environ, "PYTHONPATH": "src", "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        command, cwd=ROOT, env=environment, text=True, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, **options,
    )  # fmt: skip


def ended(started):
    out, err = started.communicate(timeout=200)
    assert "Traceback" not in err, err
    return started.returncode, out + err


def test_a_folder_becomes_a_scores_file(images, flags, tmp_path):
    found = run("score", images, *flags, "-o", tmp_path / "s.parquet")
    assert found.exit_code == 0, found.output
    assert "12 images; 3 classes: cat, dog, eel" in found.output
    assert "this encoder reads your classes" in found.output
    assert "12 scored, 0 quarantined" in found.output
    file = read_scores(tmp_path / "s.parquet")
    assert file.table["path"].to_pylist() == sorted(file.table["path"].to_pylist())
    assert set(file.settings) == {
        "kit", "arithmetic", "prototypes", "decoding", "duplicates", "fitness",
    }  # fmt: skip


def test_the_whole_zoo_is_rows_with_the_statuses_and_reasons_it_must_have(flags, tmp_path):
    groups = defaultdict(list)
    for exhibit in exhibits():
        groups[exhibit.rules].append(exhibit)
    # The largest groups of rules hold nearly all; each costs a run of the whole command.
    chosen = sorted(groups.items(), key=lambda pair: -len(pair[1]))[:4]
    assert sum(len(group) for _, group in chosen) >= 250
    for number, (rules, group) in enumerate(chosen):
        check_group(rules, group, tmp_path / f"zoo-{number}", flags, tmp_path / f"{number}.parquet")


def check_group(rules, group, root, flags, out):
    for name in small.CLASSES:
        (root / name).mkdir(parents=True)
    for exhibit in group:
        exhibit.place(exhibit.path(root / "cat"))
    stated = {
        f"--{name.replace('_', '-')}": value
        for name, value in rules.canonical().items()
        if value is not None and name != "version"
    }
    texts = {k: ",".join(map(str, v)) if isinstance(v, list) else v for k, v in stated.items()}
    done = run("score", root, *flags, *(f"{k}={v}" for k, v in texts.items()), "-o", out)
    rows = {row["id"]: row for row in read_scores(out).table.to_pylist()}
    # A folder is not an item of a collection but a place to look for more.
    files = [one for one in group if not one.path(root / "cat").is_dir()]
    assert len(rows) == len(files)
    for exhibit in files:
        row = rows["cat/" + escape(exhibit.name)]
        assert row["status"] == exhibit.status, row
        assert (row["rs"] is None) == (exhibit.like is None) <= (row["reason"] is not None)
        assert exhibit.reason in (row["reason"] or "")
        assert row["label"] == "cat"
    lost = sum(exhibit.like is None for exhibit in files)
    assert done.exit_code == (3 if lost else 0), done.output
    assert f"{len(files) - lost} scored, {lost} quarantined" in done.output


def test_the_exit_code_is_3_when_more_are_quarantined_than_allowed(flags, tmp_path):
    folder = small.folder(tmp_path / "site", 2)
    (folder / "cat" / "notes.txt").write_text("left out, not quarantined")
    for name in ("one.jpg", "two.jpg"):
        (folder / "cat" / name).write_bytes(b"<html>")
    command = ("score", folder, *flags, "-o", tmp_path / "s")
    found = run(*command)
    assert found.exit_code == 3
    assert "cat/one.jpg: " in found.output
    assert "files left out by their names (documents, hidden): 1" in found.output
    shown = run("show", tmp_path / "s")
    assert "cat/two.jpg" in shown.output
    assert "not an image of a known format" in shown.output
    assert run(*command, "--max-quarantined", "1").exit_code == 3
    assert run(*command, "--max-quarantined", "2").exit_code == 0


def test_a_file_without_permission_is_quarantined(flags, tmp_path):
    folder = small.folder(tmp_path / "site", 2)
    closed = folder / "cat" / "0000.png"
    closed.chmod(0)
    out = tmp_path / "s.parquet"
    if os.access(closed, os.R_OK):
        # The superuser may read everything; a broken link stands in for what may not be read.
        closed.unlink()
        closed.symlink_to("gone")
    assert run("score", folder, *flags, "-o", out).exit_code == 3
    (lost,) = read_scores(out).quarantined.to_pylist()
    assert lost["id"] == "cat/0000.png"


def test_names_that_are_not_utf_8_come_through(flags, tmp_path):
    folder = small.folder(tmp_path / "site", 1)
    (folder / "cat" / "0000.png").rename(folder / "cat" / os.fsdecode(b"caf\xe9\n.png"))
    assert run("score", folder, *flags, "-o", tmp_path / "s").exit_code == 0
    ids = read_scores(tmp_path / "s").table["id"].to_pylist()
    assert ids[0] == "cat/caf\\xe9\\x0a.png"


def test_a_folder_that_may_only_be_read_is_enough(flags, tmp_path):
    folder = small.folder(tmp_path / "site", 2)
    subprocess.run(["chmod", "-R", "a-w", folder], check=True)
    before = sorted((path, path.stat().st_mtime_ns) for path in folder.rglob("*"))
    try:
        assert run("score", folder, *flags, "-o", tmp_path / "s").exit_code == 0
        assert sorted((p, p.stat().st_mtime_ns) for p in folder.rglob("*")) == before
    finally:
        subprocess.run(["chmod", "-R", "u+w", folder], check=True)


@pytest.mark.parametrize("largest", [0, 200, 3000])
def test_a_full_disk_is_one_sentence_and_the_old_file_stays(images, flags, tmp_path, largest):
    out = tmp_path / "s.parquet"
    out.write_bytes(b"what was there before")

    def small_disk():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    code, said = ended(process("score", images, *flags, "-o", out, preexec_fn=small_disk))
    assert code == 2
    sentences = [line for line in said.splitlines() if line.startswith("scope: ")]
    assert len(sentences) == 1
    assert "File too large), what was there before is intact" in sentences[0]
    assert out.read_bytes() == b"what was there before"
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".s.parquet")]
    assert run("score", images, *flags, "-o", out).exit_code == 0
    assert read_scores(out).table.num_rows == 12


def test_two_runs_at_once_on_one_cache_agree(kit, images, flags, tmp_path):
    outs = [tmp_path / f"{number}.parquet" for number in range(3)]
    for started in [process("score", images, *flags, "-o", out) for out in outs]:
        assert ended(started)[0] == 0
    assert run("score", images, *flags, "-o", tmp_path / "after").exit_code == 0
    assert len({out.read_bytes() for out in (*outs, tmp_path / "after")}) == 1


def test_a_run_that_is_interrupted_says_so_and_goes_on_later(flags, tmp_path):
    folder = small.folder(tmp_path / "site", 300, side=16)
    command = ("score", folder, *flags, "-o", tmp_path / "s.parquet")
    started = process(*command)
    while not started.stdout.readline().startswith("kit "):
        pass
    started.send_signal(signal.SIGINT)
    code, said = ended(started)
    # Shells call both 130: the signal may meet Python where it can only die of it.
    assert (code, said.strip()) in [(130, "scope: interrupted"), (-signal.SIGINT, "")]
    assert run(*command).exit_code == 0
    assert read_scores(tmp_path / "s.parquet").table.num_rows == 900


def test_parts_in_processes_of_their_own_assemble_to_the_same_file(kit, images, flags, tmp_path):
    alone = ("--kit", kit, "--runtime", "onnxruntime", "--cache", tmp_path / "alone")
    assert run("score", images, *alone, "-o", tmp_path / "alone.parquet").exit_code == 0
    parts = [process("score", images, *flags, "--shard", f"{i}/3") for i in (1, 2, 3)]
    for number, started in enumerate(parts, start=1):
        code, said = ended(started)
        assert code == 0
        assert f"part {number}/3: 4 embedded, 0 unreadable" in said
    assert run("score", images, *flags, "-o", tmp_path / "s.parquet").exit_code == 0
    assert (tmp_path / "s.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()


@pytest.mark.parametrize("text", ["0/3", "4/3", "3", "a/b", "1/0", "-1/3", "1/3/4", ""])
def test_a_shard_that_is_none_is_refused(text):
    with pytest.raises(ScopeError, match="--shard must be I/N"):
        parse_shard(text)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "needs -o"),
        (("-o", "x"), "needs IMAGES"),
        (("--shard", "1/2"), "needs IMAGES"),
    ],
)
def test_what_is_missing_is_named(arguments, sentence):
    found = run("score", *arguments)
    assert found.exit_code == 2
    assert sentence in found.output


def killings(tmp_path, kit, rounds, per_class):
    folder = small.folder(tmp_path / "site", per_class, side=16)
    for path in sorted(folder.rglob("*.png"))[::3]:  # what decoding did to these is noted
        with Image.open(path) as image:
            image.convert("CMYK").save(path.with_suffix(".tif"))
        path.unlink()
    command = [sys.executable, "-m", "tests.vision.killing", str(rounds), folder, kit, tmp_path]
    environment = {**os.environ, "PYTHONPATH": "src", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.slow
def test_a_run_killed_at_random_moments_resumes_to_the_same_bytes(tmp_path, kit):
    check_killed(killings(tmp_path, kit, 6, 120), 6)


@pytest.mark.nightly
def test_a_run_killed_at_fifty_random_moments_resumes_to_the_same_bytes(tmp_path, kit):
    check_killed(killings(tmp_path, kit, 50, 400), 50)


def check_killed(said, times):
    assert said.startswith(f"killed {times} of ")
    assert said.endswith(", different 0\n")


def test_three_sites_score_against_their_common_class_means(kit, tmp_path):
    sites = [small.folder(tmp_path / site, 5, seed=number) for number, site in enumerate("abc")]
    flags = ("--kit", kit, "--runtime", "onnxruntime", "--cache", tmp_path / "cache")
    sent = []
    for site in sites:
        sent.append(tmp_path / f"{site.name}.centroids")
        made = run("centroids", "make", site, *flags, "-o", sent[-1])
        assert made.exit_code == 0, made.output
        assert "15 samples, 3 classes" in made.output
    merged = tmp_path / "all.centroids"
    assert run("centroids", "merge", *sent, "-o", merged).exit_code == 0
    for site in sites:
        out = tmp_path / f"{site.name}.parquet"
        found = run("score", site, *flags, "--centroids", merged, "-o", out)
        assert found.exit_code == 0, found.output
        assert read_scores(out).settings["prototypes"] == "visual"
        assert run("profile", out, "-o", out.with_suffix(".profile")).exit_code == 0
    profiles = [tmp_path / f"{site.name}.profile" for site in sites]
    assert run("merge", *profiles, "-o", tmp_path / "policy", "--expect", 3).exit_code == 0
    text = tmp_path / "text.parquet"
    assert run("score", sites[0], *flags, "-o", text).exit_code == 0
    assert read_scores(text).fingerprint != read_scores(tmp_path / "a.parquet").fingerprint
    mixed = run("select", text, "--policy", tmp_path / "policy", "--prune-anyway", "-o", out)
    assert mixed.exit_code == 4


def test_centroids_say_what_they_leave_out_and_what_they_give_away(kit, flags, tmp_path):
    folder = small.folder(tmp_path / "site", 2)
    (folder / "cat" / "0000.png").write_bytes(b"<html>")
    made = run("centroids", "make", folder, *flags, "-o", tmp_path / "c")
    assert made.exit_code == 0
    assert "left out because they cannot be read: 1\n  cat/0000.png: not an" in made.output
    assert "warning: classes with one image here: 1" in made.output
    assert "5 samples, 3 classes" in made.output


def test_centroids_of_another_kit_are_refused(kit, images, flags, tmp_path):
    other = tmp_path / "other"
    small.kit(model=small.tower(7)).save(other)
    sent = tmp_path / "c"
    assert run("centroids", "make", images, "--kit", other, *flags[2:], "-o", sent).exit_code == 0
    found = run("score", images, *flags, "--centroids", sent, "-o", tmp_path / "s")
    assert found.exit_code == 4
    assert not (tmp_path / "s").exists()


def test_scores_of_another_arithmetic_do_not_merge_unnoticed(images, flags, tmp_path):
    pytest.importorskip("openvino")
    for runtime in ("onnxruntime", "openvino-bf16"):
        out = tmp_path / f"{runtime}.parquet"
        assert run("score", images, *flags, "--runtime", runtime, "-o", out).exit_code == 0
        assert run("profile", out, "-o", out.with_suffix(".profile")).exit_code == 0
    profiles = sorted(tmp_path.glob("*.profile"))
    assert read_scores(out).settings["arithmetic"] == "bf16"
    assert run("merge", *profiles, "-o", tmp_path / "policy", "--expect", 2).exit_code == 4


def test_the_flags_of_other_collections_reach_them(kit, flags, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("cat\ndog\neel\n")
    pages = np.random.default_rng(0).integers(0, 256, (4, 24, 24), np.uint8)
    tifffile.imwrite(tmp_path / "stack.tif", pages, photometric="minisblack", metadata=None)
    command = ("score", tmp_path / "stack.tif", *flags, "-o", tmp_path / "s.parquet")
    assert run(*command).exit_code == 2
    assert run(*command, "--label", "dog", "--classes", names).exit_code == 0
    assert read_scores(tmp_path / "s.parquet").table["label"].to_pylist() == ["dog"] * 4
    (tmp_path / "lists").mkdir()
    (tmp_path / "lists" / "table.csv").write_text("path,label\ncat/0000.png,cat\n")
    folder = small.folder(tmp_path / "site", 1)
    command = ("score", tmp_path / "lists" / "table.csv", *flags, "-o", tmp_path / "s.parquet")
    assert run(*command, "--classes", names).exit_code == 3
    assert run(*command, "--classes", names, "--root", folder).exit_code == 0
    found = run(*command, "--classes", names, "--label-member", "json:kind")
    assert found.exit_code == 2
    assert "label_member does not apply to a table" in found.output


def test_embeddings_of_ones_own_need_no_images(tmp_path):
    rows = np.eye(3, 8, dtype=np.float32)
    np.save(tmp_path / "rows.npy", rows)
    np.save(tmp_path / "labels.npy", np.arange(3))
    found = run(
        "score", "--embeddings", tmp_path / "rows.npy", "--prototypes", tmp_path / "rows.npy",
        "--labels", tmp_path / "labels.npy", "-o", tmp_path / "s",
    )  # fmt: skip
    assert found.exit_code == 0, found.output
    assert read_scores(tmp_path / "s").table["rs"].to_pylist() == [1.0, 1.0, 1.0]


def test_progress_is_a_line_of_json_where_no_terminal_is(monkeypatch, capsys):
    from scopefl.cli import progress

    clock = iter(range(0, 400, 4))
    monkeypatch.setattr(progress.time, "monotonic", lambda: float(next(clock)))
    with progress.progress("embedding", 8) as step:
        for _ in range(6):
            step()
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [line["done"] for line in lines] == [3, 6]
    assert lines[0] == {
        "doing": "embedding", "done": 3, "of": 8, "images_per_s": 0.2, "seconds_left": 20,
    }  # fmt: skip
