"""`scope invite`, `scope admit`, `scope serve`, `scope join`: sites that find each other safely."""

import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scopefl.cli.rounds import FILE
from scopefl.core.terms import MODES

if TYPE_CHECKING:
    from scopefl.federation.site import Site

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--address", required=True, metavar="HOST:PORT", help="Where sites will reach you.")
@click.option("--sites", required=True, metavar="NAMES", help="Such as north,south,west.")
@click.option("--kit", type=FOLDER, help="The kit that all sites score with.")
@click.option("--scores", type=FILE, help="Instead of the kit, any scores made with it.")
def invite(folder: Path, address: str, sites: str, kit: Path | None, scores: Path | None) -> None:
    """Make FOLDER, for the coordinator's server, and in it the invitation to send."""
    from scopefl.federation.coordinator import invite as make

    names = [name.strip() for name in sites.split(",")]
    now = datetime.datetime.now(datetime.UTC)
    path = make(folder, address, names, *_kit_of(kit, scores), now)
    click.echo(f"{path}: send it to {', '.join(names)}; it holds no secret")
    click.echo(f"The rest of {folder} stays with you. Start the server: scope serve {folder}")


def _kit_of(kit: Path | None, scores: Path | None) -> tuple[bytes, tuple[str, ...]]:
    """Give the fingerprint and the classes that all sites must share."""
    if (kit is None) == (scores is None):
        raise click.UsageError("Give one of --kit FOLDER and --scores FILE.")
    if kit is not None:
        from scopefl.vision.kit import read_kit

        found = read_kit(kit)
        return found.fingerprint, found.classes
    from scopefl.data.batches import open_scores

    file = open_scores(Path(str(scores)))
    return file.fingerprint, file.classes


@click.command()
@click.argument("folder", type=FOLDER)
@click.argument("keys", type=FILE, nargs=-1, required=True)
def admit(folder: Path, keys: tuple[Path, ...]) -> None:
    """Let the sites whose public KEYS these are connect to the server of FOLDER."""
    from scopefl.federation.coordinator import admit as let_in

    for key in keys:
        click.echo(f"{let_in(folder, key)} is admitted")


@click.command()
@click.argument("folder", type=FOLDER)
@click.option("--host", default="0.0.0.0", show_default=True, help="Interface to listen at.")  # noqa: S104
def serve(folder: Path, host: str) -> None:
    """Run the server of FOLDER until it is interrupted."""
    from scopefl.errors import RunError
    from scopefl.federation.coordinator import LOG, serving

    with serving(folder, host) as process:
        click.echo(
            f"serving with TLS; only admitted sites may connect, only this machine may start runs; "
            f"log: {folder / LOG}"
        )
        click.echo(f"Start a run: scope flower run APP --server {folder}")
        code = process.wait()
    raise RunError(f"the Flower server ended with code {code}; its log is {folder / LOG}")


@click.command()
@click.argument("invitation", type=FILE)
@click.option("--site", required=True, help="Which of the invited sites this is.")
@click.option("--scores", type=FILE, required=True, help="This site's scores.")
@click.option("--folder", type=FOLDER, help="For the site's key and log.  [default: scope-SITE]")
@click.option("--limits", type=FILE, help="A site.toml: what this site allows; it wins.")
@click.option("--mode", type=click.Choice(MODES), help="What may leave this site.")
@click.option("--keys", type=FOLDER, help="Of scope keys new: its ledger limits a noisy mode.")
@click.option("--call", type=FILE, help="The coordinator's call.json, to sign what is sent.")
@click.option("--coreset", type=click.Path(path_type=Path), help="Write each image's fate there.")
@click.option("-c", "--config", multiple=True, metavar="KEY=VALUE", help="For the app's own use.")
@click.option("--wait", default=90.0, show_default=True, help="Seconds to go on when refused.")
@click.option("--yes", is_flag=True, help="Agree to send what is listed.")
def join(
    invitation: Path,
    site: str,
    scores: Path,
    folder: Path | None,
    limits: Path | None,
    mode: str | None,
    keys: Path | None,
    call: Path | None,
    coreset: Path | None,
    config: tuple[str, ...],
    wait: float,
    yes: bool,
) -> None:
    """Connect this site to the coordinator of INVITATION, until it is interrupted."""
    from scopefl.federation.invitation import read_invitation
    from scopefl.federation.site import Site

    paths = {"limits": limits, "keys": keys, "call": call, "coreset": coreset}
    settings = {key: str(path.absolute()) for key, path in paths.items() if path is not None}
    settings |= {"mode": mode} if mode else {}
    settings |= _of_the_app(config, {"site", "scores", "mode", *paths})
    ours = Site(
        site, folder or Path(f"scope-{site}"), read_invitation(invitation), scores, settings
    )
    file = ours.prepare()
    click.echo(_what_leaves(ours, ours.leaving(file)))
    if not (yes or ours.consented(file)):
        click.confirm("Send this?", abort=True)
    ours.consent(file)
    click.echo(f"{site} is connecting; this site's key: {ours.public_key}")
    ours.stay_connected(wait, click.echo)


def _of_the_app(config: tuple[str, ...], ours: set[str]) -> dict[str, str]:
    settings = {}
    for pair in config:
        key, equals, value = pair.partition("=")
        if not equals or key in ours or '"' in value:
            raise click.UsageError(
                f"--config must be KEY=VALUE with a key of the app, not {', '.join(sorted(ours))}; "
                f"got {pair}"
            )
        settings[key] = value
    return settings


def _what_leaves(site: "Site", size: int) -> str:
    invitation = site.invitation
    return (
        f"What leaves this site, to {invitation.address}: once a run, a profile of {size} bytes "
        f"(counts and sums for {len(invitation.classes)} classes, mode {site.terms}); in training, "
        "what the coordinator's app sends: it is code that runs here, read it first. "
        "Images, scores and file names stay."
    )
