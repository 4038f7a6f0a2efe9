"""A table as Markdown or LaTeX."""

from collections.abc import Sequence

from scopefl.experiment.tables import Table

_LATEX = {"%": r"\%", "_": r"\_", "&": r"\&", "#": r"\#", "±": r"$\pm$", "+": "$+$"}


def markdown(table: Table) -> str:
    """Give a GitHub-flavoured table under its title.

    >>> print(markdown(Table("T", ("a", "b"), (("x", "1"),))))
    **T**
    <BLANKLINE>
    | a | b |
    |---|--:|
    | x | 1 |
    """
    rules = ["---", *["--:"] * (len(table.header) - 1)]
    lines = [_row(table.header), f"|{'|'.join(rules)}|", *map(_row, table.rows)]
    return f"**{table.title}**\n\n" + "\n".join(lines)


def latex(table: Table) -> str:
    r"""Give a booktabs table.

    >>> print(latex(Table("5 %", ("a", "b"), (("x", "1 ± 2"),))))
    \begin{table}
    \centering
    \caption{5 \%}
    \begin{tabular}{lr}
    \toprule
    a & b \\
    \midrule
    x & 1 $\pm$ 2 \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    lines = [" & ".join(map(_escaped, row)) + r" \\" for row in (table.header, *table.rows)]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_escaped(table.title)}}}",
            rf"\begin{{tabular}}{{l{'r' * (len(table.header) - 1)}}}",
            r"\toprule",
            lines[0],
            r"\midrule",
            *lines[1:],
            r"\bottomrule",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"


def _escaped(text: str) -> str:
    return "".join(_LATEX.get(letter, letter) for letter in text)
