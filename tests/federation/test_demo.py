"""The demo on a small folder, and what it falls back to where CIFAR-10 is not to be had."""

import csv
import re
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from PIL import Image

from scopefl.cli.main import scope
from scopefl.data import demo_images as demo
from scopefl.data.coreset_file import read_coreset
from scopefl.errors import ScopeError
from scopefl.federation.demo import write_sites

COLOURS = {"red": (200, 30, 30), "green": (20, 180, 40), "blue": (10, 40, 220)}


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write three class folders of plain colours with some noise, and one broken file."""
    rng = np.random.default_rng(0)
    folder = tmp_path_factory.mktemp("photos")
    for name, colour in COLOURS.items():
        (folder / name).mkdir()
        for number in range(30):
            pixels = np.clip(rng.normal(colour, 25, (40, 300, 3)), 0, 255).astype(np.uint8)
            Image.fromarray(pixels).save(folder / name / f"{number}.png")
    (folder / "red" / "broken.png").write_bytes(b"no picture")
    return folder


def run(*words: object) -> str:
    done = CliRunner().invoke(scope, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.slow
def test_the_whole_demo_says_its_steps_adds_up_and_ends_with_two_pages(
    images: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path / "cache"))
    out = tmp_path / "d"
    said = run("demo", "--images", images, "-o", out)
    assert [step for step in range(1, 7) if f"{step}/6 " in said] == [1, 2, 3, 4, 5, 6]
    assert "90 of 91 files in it" in said
    check_table(out, said)
    check_truth(out)
    check_training(out)
    monkeypatch.chdir(out)
    for rule, page in (("paper", "report.html"), ("budget", "report-budget.html")):
        html = (out / page).read_text("utf-8")
        assert "What a model makes of it" in html
        assert "data:image/webp;base64," in html
        check_command(html, rule)


def check_table(out: Path, said: str) -> None:
    rows = [line.split() for line in said.splitlines() if line.startswith("  site-")]
    (whole,) = (line.split() for line in said.splitlines() if line.startswith("  all "))
    assert len(rows) == 10
    assert sum(int(row[1]) for row in rows) == int(whole[1])
    sent = sum(path.stat().st_size for path in out.glob("*.profile"))
    assert " ".join(whole[2:4]) == f"{sent} B"


def check_truth(out: Path) -> None:
    """A tenth of the labels is wrong, and the true ones are beside them."""
    given, true = [], []
    for path in sorted(out.glob("site-??.parquet")):
        given += pq.read_table(path)["label"].to_pylist()
        true += path.with_suffix(".truth.txt").read_text().splitlines()
    assert sum(a != b for a, b in zip(given, true, strict=True)) == len(true) // 10


def check_training(out: Path) -> None:
    """Every rule is compared with as many images drawn by chance."""
    with (out / "curves.csv").open() as opened:
        images = {row["trained on"]: int(row["images"]) for row in csv.DictReader(opened)}
    for rule in ("paper's rule", "budget rule"):
        assert images[rule] == images[f"random, as many as the {rule}"] < images["everything"]


def check_command(html: str, rule: str) -> None:
    """The command that the page shows makes the same coreset again."""
    found = re.search(rf"scope select site-05\.parquet .* -o site-05\.{rule}\.parquet", html)
    run(*found[0].replace(f"site-05.{rule}", "again").split()[1:])
    again, before = (read_coreset(Path(f"{name}.parquet")) for name in ("again", f"site-05.{rule}"))
    assert again.table.equals(before.table)


def test_a_folder_with_another_demo_is_not_mixed_in(images: Path, tmp_path: Path):
    found = demo.demo_images(images, tmp_path, lambda _: None)
    write_sites(found, tmp_path, seed=0)
    write_sites(found, tmp_path, seed=0)
    with pytest.raises(ScopeError, match="must hold the images of this demo only; delete"):
        write_sites(found, tmp_path, seed=1)


def test_large_images_of_a_folder_are_taken_small(images: Path, tmp_path: Path):
    found = demo.demo_images(images, tmp_path, lambda _: None)
    assert {picture.shape for picture in found.images} == {(34, 256, 3)}
    assert len(found.images) + len(found.test_images) == 90
    assert found.classes == ("blue", "green", "red")


@pytest.mark.parametrize("names", [(), ("one",)])
def test_a_folder_without_two_classes_is_one_sentence(tmp_path: Path, names: tuple[str, ...]):
    for name in names:
        (tmp_path / name).mkdir()
        Image.new("RGB", (16, 16)).save(tmp_path / name / "a.png")
    with pytest.raises(ScopeError, match="class folders"):
        demo.demo_images(tmp_path, tmp_path, lambda _: None)


def test_without_npm_solar_cells_are_taken_and_the_licence_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    found = demo.demo_images(None, tmp_path, lambda _: None)
    assert "install npm" in found.said
    assert "CC BY-NC-SA 4.0, not for commercial use" in found.said
    assert len(found.classes) == 4
    assert len(found.images) + len(found.test_images) == 2624
