"""`scope run` and `scope tables`: experiments from spec files."""

import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scopefl.experiment.runner import Progress

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
SECONDS_BETWEEN_LINES = 10


@click.command()
@click.argument("spec", type=FILE)
@click.option("-o", "--out", type=FOLDER, help="What keeps the results; without it runs/SPEC.")
@click.option("--preset", default="", help="The preset of the spec to use, such as laptop.")
@click.option("--set", "changes", multiple=True, metavar="KEY=VALUE", help="Change one setting.")
@click.option("--seeds", type=int, help="How many seeds to run.")
def run(
    spec: Path, out: Path | None, preset: str, changes: tuple[str, ...], seeds: int | None
) -> None:
    """Run the experiment SPEC; what is there already is not run again."""
    from scopefl.errors import ScopeError
    from scopefl.experiment.perform import Workshop
    from scopefl.experiment.runner import run_spec
    from scopefl.experiment.spec_file import read_spec, with_seeds
    from scopefl.experiment.tables import check_layout

    wanted = read_spec(spec, preset, changes)
    wanted = wanted if seeds is None else with_seeds(wanted, seeds)
    check_layout(wanted)
    out = out or Path("runs") / spec.stem
    lines = Lines()
    progress = run_spec(wanted, out, Workshop(lines.of_embedding), on_run=lines.of_runs)
    click.echo(f"{out}: {progress.done} of {progress.total} runs; scope tables {out} shows them")
    if progress.failed:
        raise ScopeError(
            f"{progress.failed} runs failed and the others are kept; scope tables {out} says why"
        )


@click.command()
@click.argument("runs", type=FOLDER)
@click.option("--latex", is_flag=True, help="Print LaTeX instead of Markdown.")
@click.option("--columns", help="Settings to go across, with commas, in place of the spec's.")
@click.option("--average", help="Settings to average over, with commas, in place of the spec's.")
@click.option("--figure", type=click.Path(dir_okay=False, path_type=Path), help="Draw it as SVG.")
def tables(
    runs: Path, latex: bool, columns: str | None, average: str | None, figure: Path | None
) -> None:
    """Print the tables of what RUNS holds: means, deviations, what was kept, paired tests."""
    from scopefl.experiment import printing
    from scopefl.experiment import tables as of
    from scopefl.experiment.results import read_results

    stored = read_results(runs)
    layout = stored.spec.layout
    if columns is not None:
        layout = replace(layout, columns=tuple(filter(None, columns.split(","))))
    if average is not None:
        layout = replace(layout, average=tuple(filter(None, average.split(","))))
    stored = replace(stored, spec=replace(stored.spec, layout=layout))
    of.check_layout(stored.spec)
    form = printing.latex if latex else printing.markdown
    click.echo("\n\n".join(filter(None, (stored.spec.note, str(stored.spec)))) + "\n")
    for table in of.tables(stored):
        click.echo(form(table) + "\n")
    for error in sorted(set(stored.failures.values())):
        click.echo(f"failed: {error}", err=True)
    if figure:
        from scopefl.experiment.figures import draw

        draw(stored, figure)
        click.echo(f"{figure}: drawn", err=True)


class Lines:
    """Says on stderr how far a run is: in place on a terminal, else a line every ten seconds."""

    def __init__(self) -> None:
        self._last = 0.0
        self._live = sys.stderr.isatty()

    def of_runs(self, progress: "Progress") -> None:
        """Say how many runs are done and how long the rest will take."""
        failed = f", {progress.failed} failed" if progress.failed else ""
        left = f", {duration(progress.seconds_left)} left" if progress.seconds_left else ""
        ended = progress.done + progress.failed == progress.total
        self._say(f"{progress.done} of {progress.total} runs{failed}{left}", ended)

    def of_embedding(self, done: int, total: int) -> None:
        """Say how many images are embedded."""
        self._say(f"{done} of {total} images embedded", done == total)

    def _say(self, text: str, ended: bool) -> None:
        if self._live:
            click.echo(f"\r\033[K{text}", err=True, nl=ended)
        elif ended or time.monotonic() - self._last > SECONDS_BETWEEN_LINES:
            click.echo(text, err=True)
            self._last = time.monotonic()


def duration(seconds: float) -> str:
    """Give a time for people.

    >>> duration(40), duration(170), duration(8000)
    ('40 s', '3 min', '2.2 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
