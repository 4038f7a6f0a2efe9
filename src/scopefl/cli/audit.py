"""`scope audit`: what a file of this site would give away, before it is sent."""

from pathlib import Path

import click

from scopefl.cli.rounds import FILE, MODE


@click.command()
@click.argument("file", type=FILE)
@click.option("--mode", type=MODE, default="open", show_default=True, help="For a scores file.")
@click.option("--before", type=FILE, help="The profile this site sent last.")
def audit(file: Path, mode: str, before: Path | None) -> None:
    """Attack FILE (scores or a profile) as its reader could; exit with 5 if an image is found."""
    from scopefl.cli.display import print_table
    from scopefl.core.terms import Terms
    from scopefl.errors import RefusedError
    from scopefl.federation.audit import PROMISES
    from scopefl.federation.audit import audit as attacked

    found = attacked(file, Terms.of(mode), before)
    click.echo(f"{mode} tells {PROMISES[mode]}")
    if not found:
        click.echo("no image was recovered by the attacks of this command")
        return
    print_table(
        f"{file}: images whose score anyone who reads the profile can work out",
        ("class", "images", "how", "scores", "ids"),
        (
            (
                one.label,
                len(one.rs),
                one.how,
                " ".join(f"{x:.4f}" for x in one.rs),
                " ".join(one.ids) or "-",
            )
            for one in found
        ),
    )
    total = sum(len(one.rs) for one in found)
    raise RefusedError(
        f"{total} images could be recovered; send in another mode, such as --mode min-cell"
    )
