"""`scope show`: any of our files as text."""

import json
from pathlib import Path
from typing import Any

import click

from scopefl.cli.rounds import FILE


@click.command()
@click.argument("file", type=FILE)
@click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")
def show(file: Path, as_json: bool) -> None:
    """Say what is in FILE: scores, profile, policy or coreset."""
    from scopefl.cli.display import print_table
    from scopefl.federation.contents import contents

    found = contents(file)
    if as_json:
        click.echo(json.dumps(found, ensure_ascii=False, indent=2))
        return
    tables: dict[str, list[dict[str, Any]]] = {
        name: found.pop(name, []) for name in ("classes", "reasons")
    }
    for name, value in found.items():
        click.echo(f"{name}: {json.dumps(value, ensure_ascii=False)}")
    for name, rows in tables.items():
        if rows:
            print_table(name, list(rows[0]), (list(row.values()) for row in rows))
