"""The shows of streams run: small forms of what `benchmarks` measures and draws."""

import numpy as np
import pytest

from benchmarks import drift, stream
from scopefl.data.demo_images import DemoImages
from tests.vision import small


@pytest.fixture(autouse=True)
def own_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path / "cache"))


def test_the_state_takes_less_than_a_kilobyte_a_class(tmp_path, capsys):
    stream.state_size(tmp_path, 300)
    told = capsys.readouterr().out
    assert "bytes per class: 163.84 (at most 1024) met" in told
    assert "checkpoint of 300 images" in told


def test_the_drift_demo_notices_a_name_that_the_kit_does_not_know(tmp_path, monkeypatch):
    pytest.importorskip("vl_convert")
    monkeypatch.setattr(drift, "RECENT", 4)
    pictures = np.random.default_rng(0).integers(0, 256, (120, 16, 16, 3), np.uint8)
    labels, names = np.arange(120) % 4, (*small.CLASSES, "fox")
    found = DemoImages("noise", names, pictures, labels, pictures[:0], labels[:0])
    told = drift.windows(found, "folder", small.kit(), tmp_path)
    assert len(told) == drift.BEFORE + 1
    assert "unknown class 'fox'" in told[-1]["alarms"][0]["sentence"]
    assert [window["alarms"] for window in told[:-1]] == [[]] * drift.BEFORE
    drift.draw({"folder": told}, tmp_path / "drift.png")
    assert (tmp_path / "drift.png").stat().st_size > 1000
