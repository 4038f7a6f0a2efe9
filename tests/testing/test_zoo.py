"""Every hostile file meets its written rule, in bounded memory, and nothing changes silently."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from scopefl.data.content import content_key, read_file
from scopefl.data.decoding import DecodingRules, Unreadable, decode
from scopefl.testing.exhibit import Exhibit
from scopefl.testing.zoo import exhibits, make_zoo

EXHIBITS = list(exhibits())


@pytest.fixture(scope="module")
def zoo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("zoo")
    make_zoo(folder)
    return folder


def test_the_zoo_is_large_and_its_names_are_distinct() -> None:
    names = [exhibit.name for exhibit in EXHIBITS]
    assert len(set(names)) == len(names)
    assert len(names) >= 300
    assert sum(exhibit.status == "scored" for exhibit in EXHIBITS) >= 100


@pytest.mark.parametrize("exhibit", EXHIBITS, ids=lambda exhibit: repr(exhibit.name)[2:-1])
def test_an_exhibit_meets_its_rule(exhibit: Exhibit, zoo: Path) -> None:
    if exhibit.like is None:
        with pytest.raises(Unreadable) as caught:
            decode(read_file(exhibit.path(zoo)), exhibit.rules)
        assert exhibit.reason in caught.value.reason
        assert str(zoo) not in caught.value.reason
        assert "\n" not in caught.value.reason
        return
    pixels = decode(read_file(exhibit.path(zoo)), exhibit.rules).pixels
    assert pixels.dtype == np.uint8
    assert pixels.shape == exhibit.like.shape
    difference = np.abs(pixels.astype(np.int16) - exhibit.like)
    assert difference.max() <= exhibit.within


def test_reasons_and_pixels_are_the_same_on_a_second_reading(zoo: Path) -> None:
    first = [_outcome(exhibit.path(zoo), exhibit.rules) for exhibit in EXHIBITS]
    assert first == [_outcome(exhibit.path(zoo), exhibit.rules) for exhibit in EXHIBITS]


def test_under_the_default_rules_every_file_still_ends_in_pixels_or_a_reason(zoo: Path) -> None:
    assert all(_outcome(exhibit.path(zoo), DecodingRules()) for exhibit in EXHIBITS)


def _outcome(path: Path, rules: DecodingRules) -> str:
    try:
        return content_key(decode(read_file(path), rules).pixels, DecodingRules())
    except Unreadable as unreadable:
        return unreadable.reason


@pytest.mark.slow
def test_the_whole_zoo_is_decoded_within_three_hundred_megabytes(tmp_path: Path) -> None:
    script = (
        "import sys, warnings\n"
        "from pathlib import Path\n"
        "from scopefl.data.content import read_file\n"
        "from scopefl.data.decoding import Unreadable, decode\n"
        "from scopefl.testing.zoo import make_zoo\n"
        "warnings.simplefilter('ignore')\n"
        "folder = Path(sys.argv[1])\n"
        "for exhibit in make_zoo(folder):\n"
        "    try: decode(read_file(exhibit.path(folder)), exhibit.rules)\n"
        "    except Unreadable: pass\n"
        "status = Path('/proc/self/status').read_text()\n"
        "print(status.split('VmHWM:')[1].split()[0])\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "zoo")],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert int(done.stdout) * 1024 < 300e6


@pytest.mark.slow
def test_the_module_writes_the_zoo_from_the_command_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "scopefl.testing.zoo"]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"{len(EXHIBITS)} files")
    assert subprocess.run(command, capture_output=True, check=False).returncode == 1
