"""The two examples are one Flower app, plain and with SCOPE, and few lines are between them."""

import difflib
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_scope_is_under_ten_lines_in_an_app():
    plain, scope = EXAMPLES / "flower_plain", EXAMPLES / "flower_scope"
    names = {str(path.relative_to(plain)) for path in plain.rglob("*.*") if path.suffix != ".pyc"}
    assert names == {
        str(path.relative_to(scope)) for path in scope.rglob("*.*") if path.suffix != ".pyc"
    }
    changed = []
    for name in sorted(names):
        if (plain / name).is_file():
            before, after = ((one / name).read_text().splitlines() for one in (plain, scope))
            found = [line for line in difflib.ndiff(before, after) if line[:1] in "+-"]
            changed += [line for line in found if line.startswith("+ ") and line[2:].strip()]
            removed = [line for line in found if line.startswith("- ")]
            assert len(removed) <= len([line for line in found if line.startswith("+ ")])
    assert 0 < len(changed) < 10, changed


@pytest.mark.slow
@pytest.mark.parametrize("name", ["flower_plain", "flower_scope"])
def test_the_example_runs(tmp_path, name):
    pytest.importorskip("ray")
    data = tmp_path / "data"
    subprocess.run([sys.executable, str(EXAMPLES / "make_images.py"), str(data)], check=True)
    command = [sys.executable, "-m", "scopefl", "flower", "run", str(EXAMPLES / name)]
    done = subprocess.run(
        [*command, "--clients", "4", "-c", f"data={data}"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "'accuracy': " in done.stdout + done.stderr
    assert ("speaks for 4 of 4 sites" in done.stdout + done.stderr) == (name == "flower_scope")
