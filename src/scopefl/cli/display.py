"""How commands print: tables for people, and nothing else."""

import sys
from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Console
from rich.table import Table


def console(*, err: bool = False) -> Console:
    """Give a console that wraps nothing when its output is no terminal."""
    stream = sys.stderr if err else sys.stdout
    return Console(file=stream, width=None if stream.isatty() else 120, highlight=False)


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print rows under a title, numbers to the right."""
    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    texts = [[_text(value) for value in row] for row in rows]
    for place, name in enumerate(columns):
        numeric = all(_is_number(row[place]) for row in texts)
        table.add_column(name, justify="right" if numeric else "left", overflow="fold")
    for row in texts:
        table.add_row(*row)
    console().print(table)


def percent(part: float, whole: float) -> str:
    """Give a share in percent, or a dash of nothing.

    >>> percent(1, 3), percent(0, 0)
    ('33.3 %', '-')
    """
    return f"{100 * part / whole:.1f} %" if whole else "-"


def size(n_bytes: float) -> str:
    """Give a number of bytes for people.

    >>> size(999), size(20480)
    ('999 B', '20.5 kB')
    """
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}" if unit != "B" else f"{n_bytes:.0f} B"
        n_bytes /= 1000
    return f"{n_bytes:.3g} GB"


def _text(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return str(value)


def _is_number(text: str) -> bool:
    return not text.strip(" -%.0123456789kMGB")
