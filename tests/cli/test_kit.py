import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from scopefl.cli.main import scope
from scopefl.vision import canaries
from tests.vision import small


def run(*arguments):
    return CliRunner().invoke(scope, [str(each) for each in arguments])


@pytest.fixture(scope="module")
def kit(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kits") / "tiny"
    small.kit().save(folder)
    return folder


def test_check_says_pass(kit):
    found = run("kit", "check", kit, "--runtime", "onnxruntime")
    assert found.exit_code == 0
    assert found.output.startswith("pass: 16 canaries agree")


def test_check_of_a_wrong_kit_exits_with_4_and_says_what_differs(tmp_path):
    import dataclasses

    faulty = dataclasses.replace(
        small.kit(), canary_rows=small.kit(model=small.tower(3)).canary_rows
    )
    raw = small.kit(model=small.tower(3))
    manifest = dataclasses.replace(
        faulty.manifest,
        files={
            **faulty.manifest.files,
            "canaries.npy": raw.manifest.files["canaries.npy"],
        },
    )
    dataclasses.replace(faulty, manifest=manifest).save(tmp_path / "kit")
    found = run("kit", "check", tmp_path / "kit")
    assert found.exit_code == 4
    assert "the image tower or its preprocessing" in found.output


def test_show_prints_licence_classes_and_fingerprint(kit):
    found = run("kit", "show", kit)
    assert found.exit_code == 0
    for word in ("Apache-2.0", "cat, dog, eel", small.kit().fingerprint.hex()):
        assert word in found.output


def test_compare_prints_the_agreement(kit, tmp_path):
    for number, image in enumerate(canaries.images()):
        Image.fromarray(image).save(tmp_path / f"{number:02}.png")
    found = run("kit", "compare", kit, tmp_path, "--runtime", "onnxruntime")
    assert found.exit_code == 0
    assert "on 16 images" in found.output
    assert "Jaccard of kept 1.0000, of anomalous 1.0000" in found.output


def test_backbones_are_listed():
    found = run("kit", "backbones")
    assert found.exit_code == 0
    assert "mobileclip-s2" in found.output


def test_build_refuses_an_unpinned_revision_unless_told(tmp_path):
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    found = run(
        "kit",
        "build",
        "--backbone",
        "vit-h-14",
        "--classes",
        tmp_path / "names.txt",
        "-o",
        tmp_path / "kit",
    )
    assert found.exit_code == 5
    assert "--revision COMMIT" in found.output


def test_build_of_the_offline_kit_is_a_folder_that_loads(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path / "cache"))
    (tmp_path / "names.txt").write_text("cat\nspheroidite\n")
    found = run(
        "kit",
        "build",
        "--backbone",
        "offline",
        "--classes",
        tmp_path / "names.txt",
        "-o",
        tmp_path / "kit",
    )
    assert found.exit_code == 0, found.output
    shown = run("kit", "show", tmp_path / "kit")
    assert "not a CLIP" in shown.output
    assert "no concept of this encoder is near 'spheroidite'" in shown.output
    again = run(
        "kit",
        "build",
        "--backbone",
        "offline",
        "--classes",
        tmp_path / "names.txt",
        "-o",
        tmp_path / "kit",
    )
    assert again.exit_code == 2
    assert "must not exist yet" in again.output


def test_centroids_go_from_sites_to_scores_by_file(tmp_path):
    from scopefl.data.scores_file import read_scores

    rng = np.random.default_rng(0)
    (tmp_path / "names.txt").write_text("cat\ndog\n")
    common = ("--classes", tmp_path / "names.txt", "--encoder", "tiny")
    for site in "ab":
        labels = np.arange(30) % 2
        rows = rng.standard_normal((30, 5)) + 3 * np.eye(2, 5)[labels]
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        np.save(tmp_path / f"{site}.npy", rows.astype(np.float32))
        np.save(tmp_path / f"{site}-labels.npy", labels)
        made = run(
            "centroids",
            "make",
            "--embeddings",
            tmp_path / f"{site}.npy",
            "--labels",
            tmp_path / f"{site}-labels.npy",
            *common,
            "-o",
            tmp_path / f"{site}.centroids",
        )
        assert made.exit_code == 0, made.output
    merged = run(
        "centroids",
        "merge",
        tmp_path / "a.centroids",
        tmp_path / "b.centroids",
        "-o",
        tmp_path / "all.centroids",
    )
    assert "60 samples of 2 sites" in merged.output
    scored = run(
        "centroids",
        "score",
        tmp_path / "all.centroids",
        "--embeddings",
        tmp_path / "a.npy",
        "--labels",
        tmp_path / "a-labels.npy",
        *common,
        "-o",
        tmp_path / "a.parquet",
    )
    assert scored.exit_code == 0, scored.output
    file = read_scores(tmp_path / "a.parquet")
    assert file.table.num_rows == 30
    other = run(
        "centroids",
        "score",
        tmp_path / "all.centroids",
        "--embeddings",
        tmp_path / "a.npy",
        "--labels",
        tmp_path / "a-labels.npy",
        "--classes",
        tmp_path / "names.txt",
        "--encoder",
        "other",
        "-o",
        tmp_path / "x.parquet",
    )
    assert other.exit_code == 4
