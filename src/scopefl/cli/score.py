"""`scope score`: from images, or from embeddings one already has, to a scores file."""

from pathlib import Path

import click

from scopefl.cli.rounds import FILE, OUT


@click.command()
@click.option("--embeddings", type=FILE, required=True, help="A .npy of unit rows, (N, D).")
@click.option("--prototypes", type=FILE, required=True, help="A .npy of unit rows, (C, D).")
@click.option("--labels", type=FILE, required=True, help="A .npy of numbers, or a name a line.")
@click.option("--classes", type=FILE, help="The class names, one a line, in prototype order.")
@click.option("--ids", type=FILE, help="The samples' ids, one a line.  [default: row numbers]")
@click.option("-o", "--out", type=OUT, required=True, help="The scores to write.")
def score(
    embeddings: Path,
    prototypes: Path,
    labels: Path,
    classes: Path | None,
    ids: Path | None,
    out: Path,
) -> None:
    """Score images: how typical, how diverse, how near to another class each one is."""
    from scopefl.data.embeddings import score_embeddings
    from scopefl.data.scores_file import write_scores

    file = score_embeddings(embeddings, prototypes, labels, classes=classes, ids=ids)
    write_scores(file, out)
    click.echo(f"{out}: {file.table.num_rows} samples scored in {len(file.classes)} classes")
