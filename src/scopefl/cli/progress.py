"""How far a long command is: a bar on a terminal, else one JSON line every ten seconds."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

EVERY = 10.0


@contextmanager
def progress(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Give a function to call once an item."""
    if sys.stderr.isatty():
        with _bar() as bar:
            task = bar.add_task(what, total=total, rate=0.0)
            started = time.monotonic()

            def step() -> None:
                bar.advance(task)
                done = bar.tasks[task].completed
                bar.update(task, rate=done / max(time.monotonic() - started, 1e-9))

            yield step
    else:
        yield _Lines(what, total).step


def _bar() -> Progress:
    from scopefl.cli.display import console

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]:.0f} images/s"),
        TimeRemainingColumn(),
        console=console(err=True),
    )


class _Lines:
    def __init__(self, what: str, total: int) -> None:
        self.what, self.total, self.done = what, total, 0
        self.started = self.said = time.monotonic()

    def step(self) -> None:
        self.done += 1
        now = time.monotonic()
        if now - self.said >= EVERY:
            self.said = now
            rate = self.done / (now - self.started)
            left = round((self.total - self.done) / rate)
            line = {"doing": self.what, "done": self.done, "of": self.total}
            line |= {"images_per_s": round(rate, 1), "seconds_left": left}
            print(json.dumps(line), file=sys.stderr, flush=True)
