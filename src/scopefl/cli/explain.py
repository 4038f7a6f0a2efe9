"""`scope why` and `scope sweep`: one image's fate, and what other settings would do."""

import json
from dataclasses import asdict
from pathlib import Path

import click

from scopefl.cli.rounds import FILE, OUT
from scopefl.errors import ScopeError

SHARES = frozenset({"kept fraction", "caught", "wrong among kept"})


@click.command()
@click.argument("image")
@click.option("--coreset", type=FILE, required=True, help="What `scope select` wrote.")
@click.option("--policy", type=FILE, help="What the coordinator sent back: adds z, and exact ties.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def why(image: str, coreset: Path, policy: Path | None, as_json: bool) -> None:
    """Say why IMAGE, an id or a path, was kept or dropped."""
    from scopefl.cli.display import print_table
    from scopefl.data.batches import open_coreset
    from scopefl.federation.by_file import read_agreement
    from scopefl.report.why import why as explain

    agreement = None if policy is None else read_agreement(policy)
    found = explain(open_coreset(coreset), image, agreement)
    if as_json:
        click.echo(json.dumps(asdict(found), ensure_ascii=False, indent=2))
        return
    click.echo(f"{found.id}: {found.fate}, labelled {found.label}")
    click.echo(found.sentence)
    if found.scores:
        rows = [(name, value, found.z.get(name, "")) for name, value in found.scores.items()]
        print_table(f"scores; rival {found.rival}", ("score", "value", "z"), rows)
        places = [(rank.name, rank.place, rank.of) for rank in found.ranks]
        print_table("rank, 1 the highest", ("by", "rank", "of"), places)
    if found.spared:
        click.echo(f"To keep it: {found.spared}.")


@click.command()
@click.argument("scores", type=FILE)
@click.option("--policy", type=FILE, required=True, help="What the coordinator sent back.")
@click.option("--p-l", default="0.1", show_default=True, help="Values, as 0,0.1,auto.")
@click.option("--p-f", default="0.5", show_default=True, help="Values, as 0.3,0.5,0.7.")
@click.option("--beta", default="0.5", show_default=True, help="Values between 0 and 1.")
@click.option("--gamma", help="Values of at least 0.  [default: the policy's]")
@click.option("--keep", help="Values, as 0.1,0.3: use the budget rule.")
@click.option("--truth", type=FILE, help="True labels, one a row: .npy of numbers, or names.")
@click.option("--client", help="This site's name in the budget rule.  [default: the scores' name]")
@click.option("--chart", type=OUT, help="Also draw the outcomes into this HTML file.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def sweep(
    scores: Path,
    policy: Path,
    p_l: str,
    p_f: str,
    beta: str,
    gamma: str | None,
    keep: str | None,
    truth: Path | None,
    client: str | None,
    chart: Path | None,
    as_json: bool,
) -> None:
    """Try many settings on SCORES: what each keeps, how balanced, and what noise it catches."""
    from scopefl.data.batches import open_scores
    from scopefl.data.truth import read_truth
    from scopefl.federation.by_file import read_agreement
    from scopefl.federation.sweep import settings
    from scopefl.federation.sweep import sweep as tried

    file, agreement = open_scores(scores), read_agreement(policy)
    many = settings(
        p_l=_listed(p_l),
        p_f=_listed(p_f),
        beta=_numbers("--beta", beta),
        gamma=_numbers("--gamma", gamma) if gamma else (agreement.gamma,),
        keep=_listed(keep or ""),
    )
    known = None if truth is None else read_truth(truth, file)
    outcomes = list(tried(file, agreement, many, truth=known, client=client or scores.stem))
    if as_json:
        click.echo(json.dumps([one.row for one in outcomes], indent=2, allow_nan=False))
    else:
        _print(str(scores), [one.row for one in outcomes])
    if chart is not None:
        from scopefl.report.sweep_page import write_sweep

        write_sweep(outcomes, chart)
        click.echo(f"{chart}: the chart", err=True)


def _print(title: str, rows: list[dict[str, object]]) -> None:
    from scopefl.cli.display import print_table

    print_table(
        title,
        list(rows[0]),
        ([_shown(name, value) for name, value in row.items()] for row in rows),
    )


def _shown(name: str, value: object) -> str:
    if value is None:
        return "empty class" if name == "imbalance ratio" else "-"
    if isinstance(value, float):
        return f"{100 * value:.1f} %" if name in SHARES else f"{value:.3g}"
    return str(value)


def _listed(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


def _numbers(name: str, text: str) -> list[float]:
    try:
        return [float(word) for word in _listed(text)]
    except ValueError:
        raise ScopeError(f"{name} must be numbers with commas between, got {text!r}") from None
