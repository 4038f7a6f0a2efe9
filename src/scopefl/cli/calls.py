"""`scope call` and `scope roster`: the coordinator opens a round on agreed terms."""

import json
import secrets
from pathlib import Path

import click

from scopefl.cli.rounds import FILE, MODE, OUT


@click.command()
@click.argument("sites", type=FILE, nargs=-1, required=True)
@click.option("--run", required=True, help="What the collaboration calls this run.")
@click.option("--round", "number", default=1, show_default=True, help="Which round of the run.")
@click.option("--mode", type=MODE, required=True, help="What may leave the sites.")
@click.option("--scores", type=FILE, required=True, help="Any scores or centroids of the kit.")
@click.option("--images", type=int, required=True, help="The most images one site may claim.")
@click.option("--min-cell", type=int, help="Least images of a class that is shared.")
@click.option("--epsilon", default=1.0, show_default=True, help="Spent by this round.")
@click.option("--delta", default=1e-6, show_default=True, help="Chance that the promise fails.")
@click.option("--low", default=0.0, show_default=True, help="Scores below are clipped.")
@click.option("--high", default=0.5, show_default=True, help="Scores above are clipped.")
@click.option("--tiles", default=1, show_default=True, help="Most images of one specimen.")
@click.option("--colluders", default=1, show_default=True, help="Sites that may pool their noise.")
@click.option("-o", "--out", type=OUT, required=True, help="The call to send to every site.")
def call(
    sites: tuple[Path, ...],
    run: str,
    number: int,
    mode: str,
    scores: Path,
    images: int,
    out: Path,
    min_cell: int | None,
    epsilon: float,
    delta: float,
    low: float,
    high: float,
    tiles: int,
    colluders: int,
) -> None:
    """Call the SITES, whose .pub files are given, for profiles on one mode."""
    from scopefl.core.terms import Terms
    from scopefl.data.files import write_bytes
    from scopefl.federation.call import Call, Member

    terms = Terms.of(
        mode,
        min_cell=min_cell,
        epsilon=epsilon,
        delta=delta,
        low=low,
        high=high,
        tiles=tiles,
        colluders=colluders,
    )
    members = [_public(path) for path in sites]
    opened = Call(
        run,
        number,
        secrets.token_hex(16),
        _kit_of(scores).hex(),
        terms,
        {name: Member(key, images) for name, key in members},
    )
    if len(opened.sites) < len(members):
        raise click.UsageError("Two sites have the same name; rename one.")
    write_bytes(out, Call.from_bytes(opened.to_bytes()).to_bytes())
    click.echo(f"{out}: round {number} of {run} on {terms}, sites {', '.join(opened.sites)}")


@click.command()
@click.argument("call", type=FILE)
@click.argument("offers", type=FILE, nargs=-1, required=True)
@click.option("--after", type=FILE, help="The roster of the attempt that failed.")
@click.option("-o", "--out", type=OUT, required=True, help="The roster to send to its sites.")
def roster(call: Path, offers: tuple[Path, ...], after: Path | None, out: Path) -> None:
    """Put the sites' OFFERS of masking keys together, for one attempt at CALL."""
    from scopefl.data.files import read_bytes, write_bytes
    from scopefl.federation.call import MAX_CALL, read_call
    from scopefl.federation.offers import gathered, read_roster, roster_of

    opened, signed = read_call(call), [read_bytes(path, MAX_CALL) for path in offers]
    before = None if after is None else read_roster(read_bytes(after, MAX_CALL), opened)
    made = roster_of(signed, opened, before)
    write_bytes(out, gathered(signed))
    click.echo(f"{out}: attempt {made.attempt} with {len(made.keys)} sites; all must answer")


def _kit_of(path: Path) -> bytes:
    from scopefl.core.envelope import MAGIC
    from scopefl.data.batches import open_scores
    from scopefl.data.files import read_bytes
    from scopefl.federation.contents import read_start
    from scopefl.vision.prototypes import KIND, LARGEST_MESSAGE, fingerprint_of

    if read_start(path)[:3] == MAGIC + KIND:
        return fingerprint_of(read_bytes(path, LARGEST_MESSAGE))
    return open_scores(path).fingerprint


def _public(path: Path) -> tuple[str, str]:
    from scopefl.data.files import read_bytes
    from scopefl.errors import ScopeError

    try:
        found = json.loads(read_bytes(path, 1 << 16))
        name, key = str(found["name"]), bytes.fromhex(found["key"]).hex()
    except (KeyError, TypeError, ValueError):
        name = key = ""
    if not name or len(key) != 64:
        raise ScopeError(f"{path} must be a site.pub that `scope keys new` wrote")
    return name, key
