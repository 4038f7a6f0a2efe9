"""`scope export`: a coreset in the form another program reads."""

from datetime import UTC, datetime
from pathlib import Path

import click

from scopefl.cli.rounds import FILE, OUT

FORMS = (
    "txt",
    "csv",
    "hf-indices",
    "torch-subset-indices",
    "fiftyone",
    "label-studio",
    "croissant",
    "ro-crate",
)


@click.command()
@click.argument("coreset", type=FILE)
@click.option("--to", "form", type=click.Choice(FORMS), required=True, help="What will read it.")
@click.option("-o", "--out", type=OUT, required=True, help="The file to write.")
@click.option(
    "--images",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The folder that relative paths start from; paths are then written absolute.",
)
@click.option("--prefix", default="", help="Put this before each path instead, as a URL.")
@click.option("--license", "licence", default="", help="For croissant and ro-crate: its URL.")
def export(
    coreset: Path, form: str, out: Path, images: Path | None, prefix: str, licence: str
) -> None:
    """Write CORESET's kept list, its anomalies to relabel, or its provenance.

    Originals are never moved, copied or deleted.
    """
    from scopefl.data.batches import open_coreset
    from scopefl.data.files import file_sha256, replacing
    from scopefl.report.exports import EXPORTS
    from scopefl.report.exports.target import Target

    state = coreset.stat()
    made = datetime.fromtimestamp(state.st_mtime, UTC).date().isoformat()
    digest = file_sha256(coreset)
    target = Target(coreset.name, digest, state.st_size, made, images, prefix, licence)
    pieces = EXPORTS[form].make(open_coreset(coreset), target)
    with replacing(out) as draft, draft.open("w", encoding="utf-8", errors="surrogateescape") as to:
        to.writelines(pieces)
    click.echo(f"{out}: {EXPORTS[form].about}")
