"""What a watched stream notices: `python -m benchmarks.drift [--out scope-drift.png]`.

Real images (those of `scope demo`) come one by one, as from an instrument, under a kit that does
not know the last of their classes. After some windows in which nothing changes, one thing does:
nothing, the focus, the labels, what is under the lens, or the folders. Prints each window's alarms
and draws the shifts behind them.
"""

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from PIL import Image, ImageFilter

from scopefl.data.demo_images import DemoImages, demo_images
from scopefl.data.source import Item
from scopefl.federation.by_file import Rule
from scopefl.stream.stream import Plan, Stream
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.kit import OFFLINE, Kit

RECENT, BEFORE = 50, 3
"""Images of a class in a window, on average; windows in which nothing changes."""


class Instrument:
    """Gives images, each once, in random order; what changes is asked for window by window."""

    def __init__(self, found: DemoImages, seed: int) -> None:
        self.found, self.rng = found, np.random.default_rng(seed)
        self.known = found.classes[:-1]
        labels = np.asarray(found.labels)
        self.usual = iter(self.rng.permutation(np.flatnonzero(labels < len(self.known))).tolist())
        self.strange = iter(self.rng.permutation(np.flatnonzero(labels == len(self.known))))

    def nothing(self, n: int) -> Iterator[Item]:
        """Give images as they are."""
        for _ in range(n):
            number = next(self.usual)
            yield self._item(number, self._pixels(number))

    def focus(self, n: int) -> Iterator[Item]:
        """Give images of one class out of focus."""
        for _ in range(n):
            number = next(self.usual)
            blurred = Image.fromarray(self._pixels(number)).filter(ImageFilter.GaussianBlur(1.5))
            first = self.found.labels[number] == 0
            yield self._item(number, np.asarray(blurred) if first else self._pixels(number))

    def labels(self, n: int) -> Iterator[Item]:
        """Give a third of the images a label of another class."""
        for _ in range(n):
            number = next(self.usual)
            wrong = self.rng.random() < 1 / 3
            shift = int(self.rng.integers(1, len(self.known))) if wrong else 0
            yield self._item(number, self._pixels(number), shift)

    def specimen(self, n: int) -> Iterator[Item]:
        """Give every third image of a class that the kit does not know, as if it were the second.

        A file that says so is quarantined; this is what remains where nobody says so.
        """
        for turn in range(n):
            if turn % 3:
                yield from self.nothing(1)
            else:
                number = int(next(self.strange))
                yield self._item(number, self._pixels(number), 2)

    def folder(self, n: int) -> Iterator[Item]:
        """Give every tenth image of the class that the kit does not know, under its own name."""
        for turn in range(n):
            if turn % 10:
                yield from self.nothing(1)
            else:
                number = int(next(self.strange))
                item = self._item(number, self._pixels(number))
                yield replace(item, label=self.found.classes[-1])

    def _pixels(self, number: int) -> np.ndarray:
        return np.asarray(self.found.images[number])

    def _item(self, number: int, pixels: np.ndarray, shift: int = 0) -> Item:
        label = self.known[(int(self.found.labels[number]) + shift) % len(self.known)]
        return Item(f"{number:06}", "instrument", label, partial(np.asarray, pixels))


def windows(found: DemoImages, change: str, kit: Kit, work: Path) -> list[dict[str, Any]]:
    """Give the drift of every window, the last of which is changed."""
    instrument, n = Instrument(found, seed=0), RECENT * (len(found.classes) - 1)
    plan = Plan(Rule(prune_anyway=True), drift=work / "drift.json", recent=RECENT)
    told = []
    with Stream(work / change, kit, plan, cache=cache_folder()) as stream:
        for name in ["nothing"] * BEFORE + [change]:
            for _ in stream.take(getattr(instrument, name)(n)):
                pass
            stream.checkpoint()
            told.append(json.loads((work / "drift.json").read_text()))
    return told


def draw(told: dict[str, list[dict[str, Any]]], out: Path) -> None:
    """Draw the shift of every class's mean RS and S_neg, window by window."""
    import altair

    rows = [
        {
            "change": change, "window": number, "class": one["class"], "metric": metric,
            "shift in sigmas": one[f"{metric} sigmas"],
        }
        for change, found in told.items()
        for number, window in enumerate(found, start=1)
        for one in window["classes"]
        for metric in ("RS", "S_neg")
    ]  # fmt: skip
    chart = altair.Chart(altair.Data(values=rows)).mark_line(point=True)
    chart = chart.encode(
        altair.X("window:O"),
        altair.Y("shift in sigmas:Q"),
        altair.Color("class:N"),
        altair.Column("change:N", title=f"what changes in window {BEFORE + 1}", sort=list(told)),
        altair.Row("metric:N"),
    )
    chart.properties(width=180, height=140).save(out, scale_factor=2)


def main() -> None:
    """Print the alarms of each change, and draw."""
    options = argparse.ArgumentParser(description="What a watched stream notices.")
    options.add_argument("--out", type=Path, default=Path("scope-drift.png"))
    options.add_argument("--images", type=Path, help="a folder of class folders of your own")
    chosen = options.parse_args()
    found, told = demo_images(chosen.images, cache_folder() / "data", print), {}
    print(f"{found.said}; the kit does not know {found.classes[-1]!r}")
    kit = Kit.load(OFFLINE, found.classes[:-1])
    with TemporaryDirectory() as folder:
        for change in ("nothing", "focus", "labels", "specimen", "folder"):
            told[change] = windows(found, change, kit, Path(folder))
            for number, window in enumerate(told[change], start=1):
                what = change if number > BEFORE else "nothing"
                alarms = [alarm["sentence"] for alarm in window["alarms"]] or ["no alarm"]
                print(f"{change}, window {number} ({what} changes): " + "; ".join(alarms))
    draw(told, chosen.out)
    print(f"drawn: {chosen.out}")


if __name__ == "__main__":
    main()
