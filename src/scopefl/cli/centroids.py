"""`scope centroids`: class means of embeddings, for classes whose names the encoder cannot read."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scopefl.cli.images import Job, echo_lost, image_options
from scopefl.cli.rounds import FILE, FOLDER, OUT
from scopefl.errors import FingerprintError, ScopeError

if TYPE_CHECKING:
    from scopefl.vision.prototypes import Centroids

EMBEDDINGS = click.option(
    "--embeddings", type=FILE, required=True, help="A .npy of unit rows, (N, D)."
)
LABELS = click.option("--labels", type=FILE, required=True, help="A .npy, or a name a line.")
CLASSES = click.option("--classes", type=FILE, required=True, help="A class name a line.")
ENCODER = click.option(
    "--encoder", required=True, help="The same word at every site: which encoder embedded."
)


@click.group()
def centroids() -> None:
    """Visual prototypes: sites add up class means, samples are scored without themselves."""


def _fingerprint(classes: Path, encoder: str) -> tuple[list[str], bytes]:
    from scopefl.core.fingerprint import fingerprint, nfc
    from scopefl.data.embeddings import read_lines

    names = list(nfc(read_lines(classes)))
    return names, fingerprint(names, {"encoder": encoder, "prototypes": "visual"})


@centroids.command()
@click.argument("images", type=click.Path(exists=True, path_type=Path), required=False)
@image_options
@click.option("--embeddings", type=FILE, help="Instead of images: a .npy of unit rows, (N, D).")
@click.option("--labels", type=FILE, help="With --embeddings: a .npy, or a name a line.")
@click.option("--encoder", help="With --embeddings: which encoder embedded, one word for all.")
@click.option("--call", type=FILE, help="A call in secure-sum: nobody sees this site's sums.")
@click.option("--site", type=FOLDER, help="With --call: this site's folder of `scope keys new`.")
@click.option("--roster", type=FILE, help="With --call: whose masks cancel.")
@click.option("-o", "--out", type=OUT, required=True, help="The centroids to write.")
def make(
    images: Path | None,
    out: Path,
    call: Path | None,
    site: Path | None,
    roster: Path | None,
    **options: Any,
) -> None:
    """Add up this site's embeddings per class: of IMAGES, or ones you already have."""
    from scopefl.cli.display import size
    from scopefl.data.files import write_bytes

    found, mark = _of_images(images, options) if images else _of_embeddings(options)
    message = _masked(found, mark, call, site, roster) if call else found.to_bytes(mark)
    write_bytes(out, message)
    if (alone := int((found.count == 1).sum())) and not call:
        click.echo(
            f"warning: classes with one image here: {alone}; {out} holds its whole embedding",
            err=True,
        )
    click.echo(
        f"{out}: {size(len(message))}, {found.count.sum()} samples, {len(found.count)} classes"
    )


def _masked(
    found: "Centroids", mark: bytes, call: Path, site: Path | None, roster: Path | None
) -> bytes:
    from scopefl.data.files import read_bytes
    from scopefl.federation.call import MAX_CALL, read_call
    from scopefl.federation.class_sums import share
    from scopefl.federation.offers import read_roster
    from scopefl.federation.site_keys import SiteKeys

    if site is None or roster is None:
        raise click.UsageError("A call is answered under masks: give --site and --roster.")
    asked = read_call(call)
    return share(
        found, mark, asked, SiteKeys(site), read_roster(read_bytes(roster, MAX_CALL), asked)
    )


def _of_images(images: Path, options: dict[str, Any]) -> "tuple[Centroids, bytes]":
    job = Job.of(images, options)
    embedded = job.embedded()
    lost = [(one.path, one.reason) for one in embedded.outcomes if one.key is None]
    if lost:
        click.echo(f"left out because they cannot be read: {len(lost)}", err=True)
        echo_lost(lost, "scope score lists them all")
    return embedded.centroids, job.kit.fingerprint


def _of_embeddings(options: dict[str, Any]) -> "tuple[Centroids, bytes]":
    from scopefl.data.embeddings import read_array, read_labels
    from scopefl.vision.prototypes import Centroids

    for name in ("embeddings", "labels", "classes", "encoder"):
        if options[name] is None:
            raise ScopeError(f"scope centroids make needs IMAGES, or --{name} beside the others")
    names, mark = _fingerprint(options["classes"], options["encoder"])
    labels = read_labels(options["labels"], names)
    return Centroids.of(read_array(options["embeddings"]), labels, len(names)), mark


@centroids.command()
@click.argument("sites", type=FILE, nargs=-1, required=True)
@click.option("--call", type=FILE, help="The call that the sites answered under masks.")
@click.option("-o", "--out", type=OUT, required=True, help="The centroids of all together.")
def merge(sites: tuple[Path, ...], call: Path | None, out: Path) -> None:
    """Add up the centroids of SITES, all of the same encoder and classes."""
    from scopefl.data.files import read_bytes, write_bytes
    from scopefl.vision.prototypes import LARGEST_MESSAGE

    messages = [read_bytes(site, LARGEST_MESSAGE) for site in sites]
    whole, mark = _unmasked(messages, call) if call else _added(messages, sites)
    write_bytes(out, whole.to_bytes(mark))
    click.echo(f"{out}: {whole.count.sum()} samples of {len(sites)} sites")


def _unmasked(messages: list[bytes], call: Path) -> "tuple[Centroids, bytes]":
    from scopefl.federation.call import read_call
    from scopefl.federation.class_sums import merge

    asked = read_call(call)
    return merge(messages, asked), bytes.fromhex(asked.fingerprint)


def _added(messages: list[bytes], sites: tuple[Path, ...]) -> "tuple[Centroids, bytes]":
    from scopefl.vision.prototypes import Centroids, fingerprint_of

    mark = fingerprint_of(messages[0])
    whole = Centroids.from_bytes(messages[0])
    for site, message in zip(sites[1:], messages[1:], strict=True):
        try:
            whole += Centroids.from_bytes(message, mark)
        except FingerprintError as other:
            raise FingerprintError(f"{site} does not fit {sites[0]}: {other}") from other
    return whole, mark


@centroids.command()
@click.argument("merged", type=FILE)
@EMBEDDINGS
@LABELS
@CLASSES
@ENCODER
@click.option("--ids", type=FILE, help="The samples' ids, one a line.  [default: row numbers]")
@click.option("-o", "--out", type=OUT, required=True, help="The scores to write.")
def score(
    merged: Path,
    embeddings: Path,
    labels: Path,
    classes: Path,
    encoder: str,
    ids: Path | None,
    out: Path,
) -> None:
    """Score this site's samples against the MERGED class means that leave each one out."""
    from scopefl.data.embeddings import read_array, read_labels, read_lines
    from scopefl.data.files import read_bytes
    from scopefl.data.scores_file import ScoresFile, write_scores
    from scopefl.vision.prototypes import LARGEST_MESSAGE, Centroids, leave_one_out

    names, mark = _fingerprint(classes, encoder)
    whole = Centroids.from_bytes(read_bytes(merged, LARGEST_MESSAGE), mark)
    numbers = read_labels(labels, names)
    scores = leave_one_out(read_array(embeddings), numbers, whole)
    settings = {"source": "embeddings", "prototypes": "visual", "encoder": encoder}
    named = read_lines(ids) if ids else None
    write_scores(ScoresFile.of(scores, numbers, names, mark, ids=named, settings=settings), out)
    click.echo(f"{out}: {len(scores)} samples scored in {len(names)} classes")
