"""What the documents say runs: their Python blocks, and the commands they name."""

import re
from pathlib import Path

import pytest

from scopefl.cli.main import COMMANDS

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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_scope_command_in_a_page_exists(page):
    for kind in ("bash", "console", "sh"):
        for text in blocks(page, kind):
            for name in re.findall(r"^(?:\$ )?scope ([a-z-]+)", text, re.MULTILINE):
                assert name in COMMANDS, f"{page.name} names `scope {name}`"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_link_between_pages_leads_somewhere(page):
    for target in re.findall(r"\]\(([^)#]+)", page.read_text("utf-8")):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
