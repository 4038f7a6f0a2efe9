"""`scope keys`: what a site signs with, offers for masking, and confirms."""

from pathlib import Path

import click

from scopefl.cli.rounds import FILE, OUT

SITE = click.Path(exists=True, file_okay=False, path_type=Path)


@click.group()
def keys() -> None:
    """Sign profiles, make masking keys, confirm policies: a site's part in a call."""


@keys.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option("--name", required=True, help="What this site is called.")
@click.option("--epsilon", type=float, help="The most epsilon all noisy rounds may spend.")
def new(folder: Path, name: str, epsilon: float | None) -> None:
    """Make a site's private FOLDER; only the site.pub in it is for others."""
    from scopefl.federation.site_keys import PUBLIC, SiteKeys

    site = SiteKeys.new(folder, name, epsilon)
    click.echo(f"{site.folder / PUBLIC}: send it to the coordinator; the rest of {folder} stays")


@keys.command()
@click.argument("folder", type=SITE)
@click.argument("call", type=FILE)
@click.option("--attempt", default=1, show_default=True, help="2, when a site dropped out.")
@click.option("-o", "--out", type=OUT, required=True, help="The offer to send.")
def offer(folder: Path, call: Path, attempt: int, out: Path) -> None:
    """Make a new masking key for a CALL in secure-sum; write its public half, signed."""
    from scopefl.data.files import write_bytes
    from scopefl.federation.call import read_call
    from scopefl.federation.site_keys import SiteKeys

    write_bytes(out, SiteKeys(folder).offer(read_call(call), attempt))
    click.echo(f"{out}: send it to the coordinator, who answers with a roster")


@keys.command()
@click.argument("folder", type=SITE)
@click.argument("call", type=FILE)
@click.argument("policy", type=FILE)
@click.argument("transcript", type=FILE)
@click.option("-o", "--out", type=OUT, required=True, help="The receipt to show to other sites.")
def receipt(folder: Path, call: Path, policy: Path, transcript: Path, out: Path) -> None:
    """Check that POLICY came of what this site sent, on its terms; sign what was told."""
    from scopefl.core.envelope import LARGEST
    from scopefl.data.files import read_bytes, write_bytes
    from scopefl.federation import answering
    from scopefl.federation.call import read_call
    from scopefl.federation.site_keys import SiteKeys

    told = answering.Transcript.from_bytes(read_bytes(transcript, LARGEST))
    message = read_bytes(policy, LARGEST)
    write_bytes(out, answering.receipt(message, told, read_call(call), SiteKeys(folder)))
    click.echo(f"{out}: the policy is {told.policy[:16]}, made of {len(told.messages)} sites")


@keys.command()
@click.argument("call", type=FILE)
@click.argument("receipts", type=FILE, nargs=-1, required=True)
def compare(call: Path, receipts: tuple[Path, ...]) -> None:
    """See from the sites' RECEIPTS whether all were told the same policy."""
    from scopefl.core.envelope import LARGEST
    from scopefl.data.files import read_bytes
    from scopefl.federation.answering import compare as compared
    from scopefl.federation.call import read_call

    policy = compared([read_bytes(path, LARGEST) for path in receipts], read_call(call))
    click.echo(f"all {len(receipts)} sites were told the policy {policy[:16]}")


@keys.command()
@click.argument("folder", type=SITE)
def ledger(folder: Path) -> None:
    """Print what left this site, and the epsilon that all of it spent."""
    from scopefl.cli.display import print_table
    from scopefl.federation.site_keys import SiteKeys

    site = SiteKeys(folder)
    rows = [(one.call[:16], one.attempt, one.mode, one.message[:16], one.rho) for one in site.spent]
    print_table("what left this site", ("call", "attempt", "mode", "message", "rho"), rows)
    limit = "no limit" if site.limit is None else f"limit {site.limit:g}"
    if any(one.rho for one in site.spent):
        click.echo(f"epsilon spent: {site.epsilon():.3f} ({limit})")
    else:
        click.echo(f"epsilon spent: 0 ({limit})")
