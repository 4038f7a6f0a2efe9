"""What the documents say runs: their Python blocks, and the commands they name."""

import re
import shlex
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from scopefl.cli.main import scope

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(page, language):
    return [text for kind, text in BLOCK.findall(page.read_text("utf-8")) if kind == language]


PYTHON = [(page, text) for page in PAGES for text in blocks(page, "python")]


@pytest.mark.parametrize(
    ("page", "text"), PYTHON, ids=[f"{page.stem}-{n}" for n, (page, _) in enumerate(PYTHON)]
)
def test_every_python_block_runs(page, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(compile(text, str(page), "exec"), {"__name__": "__docs__"})


def test_the_readme_example_keeps_something_at_each_site(capsys):
    (text,) = blocks(ROOT / "README.md", "python")
    exec(compile(text, "README.md", "exec"), {})
    kept = eval_list(capsys.readouterr().out)
    assert len(kept) == 3
    assert all(0 < n < 100 for n in kept)


def eval_list(text):
    return [int(number) for number in re.findall(r"\d+", text)]


def lines(page):
    """Give the shell lines of a page, continued ones joined and comments left out."""
    for kind in ("bash", "console", "sh"):
        for text in blocks(page, kind):
            for line in text.replace("\\\n", " ").splitlines():
                if words := shlex.split(line.removeprefix("$ "), comments=True):
                    yield words


def unknown_options(words):
    """Name what is no command or no option of it."""
    command = scope
    for place, word in enumerate(words[1:], 1):
        if isinstance(command, click.Group) and not word.startswith("-"):
            command = command.get_command(click.Context(command), word)
            if command is None:
                return [" ".join(words[: place + 1])]
    known = {option for param in command.params for option in param.opts} | {"--help", "--version"}
    return [word for word in words if re.fullmatch(r"--?[a-z].*", word) and word not in known]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_scope_command_in_a_page_exists_with_its_options(page):
    for words in lines(page):
        if words[0] == "scope":
            assert unknown_options(words) == [], f"{page.name}: {' '.join(words)}"


GUIDES = ("reading-the-report", "choosing-p_l-and-keep", "relabelling")
RUN = [ROOT / "docs/tutorial.md", ROOT / "README.md"]
RUN += [ROOT / f"docs/how-to/{name}.md" for name in GUIDES]
OURS = {"airplane": "red", "automobile": "green", "bird": "blue", "images/cat": "images/red"}
OTHERS = {"cat", "deer", "dog", "frog", "horse", "ship", "truck"}
COLOURS = {"red": (200, 30, 30), "green": (20, 180, 40), "blue": (10, 40, 220)}


@pytest.fixture
def sites(tmp_path, monkeypatch):
    """Go where three sites hold plain colours, as the demo's folders and under the pages' names."""
    rng = np.random.default_rng(0)
    for site in ("site-01", "site-02", "site-03"):
        for name, colour in COLOURS.items():
            folder = tmp_path / "scope-demo" / site / name
            folder.mkdir(parents=True)
            for number in range(38, 46):
                pixels = np.clip(rng.normal(colour, 25, (32, 32, 3)), 0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(folder / f"{number:04d}.png")
    for name in ("images", "my_images"):
        (tmp_path / "scope-demo" / name).symlink_to("site-01")
    for name, same in {"scores": "north", "coreset": "north.coreset"}.items():
        (tmp_path / "scope-demo" / f"{name}.parquet").symlink_to(f"{same}.parquet")
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def run(words, monkeypatch):
    """Run a line: ours in this process, for speed, the others in a shell."""
    words = [OURS.get(word, word).replace("images/cat", "images/red") for word in words]
    if words[0] == "cd":
        monkeypatch.chdir(words[1])
    elif words[0] == "scope":
        found = [
            sorted(map(str, Path().glob(word))) if "*" in word else [word] for word in words[1:]
        ]
        done = CliRunner().invoke(scope, [word for some in found for word in some])
        assert done.exit_code == 0, f"{' '.join(words)}: {done.output}"
    elif words[0] == "printf":
        names = [word for word in words[2 : words.index(">")] if word not in OTHERS]
        Path(words[-1]).write_text("\n".join(names))
    else:
        assert words[0] == "make", f"{words} would not be run"


@pytest.mark.slow
def test_the_commands_of_the_first_pages_run_one_after_another(sites, monkeypatch):
    for page in RUN:
        for words in lines(page):
            run(words, monkeypatch)


def test_every_page_is_reached_from_the_navigation():
    listed = set(re.findall(r"[\w/.-]+\.md", (ROOT / "mkdocs.yml").read_text("utf-8")))
    written = {str(page.relative_to(ROOT / "docs")) for page in PAGES[1:]}
    assert listed == written


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_between_pages_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
