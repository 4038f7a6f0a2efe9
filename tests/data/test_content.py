"""A file is read at one moment, and its key changes exactly when it or the rules do."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from scopefl.data import content
from scopefl.data.content import content_key, read_file
from scopefl.data.decoding import DecodingRules, Unreadable

PLAIN = DecodingRules()


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(range(256)) * 1000)
    assert read_file(path) == bytes(range(256)) * 1000


def test_a_file_rewritten_while_it_is_read_is_read_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    changes = [b"newer"]
    _change_on_open(monkeypatch, path, changes)
    assert read_file(path) == b"newer"


def test_a_file_that_never_stands_still_is_quarantined(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    _change_on_open(monkeypatch, path, [b"newest!", b"newer"])
    with pytest.raises(Unreadable, match="changed while being read"):
        read_file(path)


def _change_on_open(monkeypatch: pytest.MonkeyPatch, path: Path, changes: list[bytes]) -> None:
    """Let another writer replace the file just after it was opened, once per change."""

    def opener(name: str, flags: int) -> int:
        opened = os.open(name, flags)
        if changes:
            path.with_suffix(".new").write_bytes(changes.pop())
            path.with_suffix(".new").replace(path)
        return opened

    monkeypatch.setattr(content, "_open_without_waiting", opener)


def test_a_huge_file_is_not_loaded(tmp_path: Path) -> None:
    path = tmp_path / "huge"
    with path.open("wb") as stream:
        stream.truncate(content.LARGEST_FILE + 1)
    with pytest.raises(Unreadable, match="bytes"):
        read_file(path)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become nobody")
def test_a_file_without_permission_is_quarantined(tmp_path: Path) -> None:
    path = tmp_path / "secret.png"
    path.write_bytes(b"x")
    path.chmod(0)
    script = (
        "import os, sys; from pathlib import Path\n"
        "from scopefl.data.content import read_file\n"
        "os.chdir(sys.argv[1]); os.setuid(65534)\n"
        "read_file(Path('secret.png'))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stderr.strip().endswith("Unreadable: cannot be read: Permission denied")


def test_the_key_tells_inputs_and_rules_apart() -> None:
    levels = np.arange(64, dtype=np.uint8).reshape(8, 8)
    image = Image.fromarray(levels)
    turned = Image.fromarray(levels)
    turned.getexif()[274] = 6
    palette = image.convert("P")
    inputs = [
        b"", b"a", levels, levels.reshape(4, 16), levels.view(np.int8), levels.T,
        image, image.resize((16, 4)), turned, palette,
    ]  # fmt: skip
    keys = {content_key(raw, PLAIN) for raw in inputs}
    keys.add(content_key(b"a", DecodingRules(min_side=9)))
    assert len(keys) == len(inputs) + 1
    assert all(len(key) == 64 for key in keys)


def test_equal_content_has_equal_keys() -> None:
    levels = np.arange(64, dtype=np.uint8).reshape(8, 8)
    assert content_key(levels.T.copy(), PLAIN) == content_key(levels.T, PLAIN)
    assert content_key(b"a", PLAIN) == content_key(bytes([97]), DecodingRules())


def test_objects_have_no_key() -> None:
    with pytest.raises(Unreadable):
        content_key(np.array([object()]), PLAIN)
    with pytest.raises(Unreadable):
        content_key("a path", PLAIN)
