"""`scope score`: from images, or from embeddings one already has, to a scores file."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scopefl.cli.cluster import cluster_options, fleet_of, sbatch
from scopefl.cli.images import Job, echo_lost, image_options
from scopefl.cli.rounds import FILE, OUT
from scopefl.errors import ScopeError

if TYPE_CHECKING:
    from scopefl.data.scores_file import ScoresFile
    from scopefl.vision.fitness import Fitness
    from scopefl.vision.ray_cluster import Fleet

ANY = click.Path(exists=True, path_type=Path)
SOME_QUARANTINED = 3


@click.command()
@click.argument("images", type=ANY, required=False)
@image_options
@click.option("--centroids", type=FILE, help="The sites' merged class means, as prototypes.")
@cluster_options
@click.option("--shard", metavar="I/N", help="Only embed the I-th of N parts, for job arrays.")
@click.option(
    "--max-quarantined",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    help="More of them: exit code 3.",
)
@click.option("--embeddings", type=FILE, help="Instead of images: a .npy of unit rows, (N, D).")
@click.option("--prototypes", type=FILE, help="With --embeddings: a .npy of unit rows, (C, D).")
@click.option("--labels", type=FILE, help="With --embeddings: a .npy of numbers, or names.")
@click.option("--ids", type=FILE, help="With --embeddings: ids, one a line.")
@click.option("-o", "--out", type=OUT, help="The scores to write.")
@click.pass_context
def score(ctx: click.Context, /, images: Path | None, out: Path | None, **options: Any) -> None:
    """Score IMAGES: how typical, how diverse, how near to another class each one is.

    IMAGES is a folder of class folders, a table, tars, HDF5, Zarr or a TIFF of many pages.
    """
    fleet = fleet_of(options)
    if options["sbatch"]:
        _write_script(ctx, _needed(images, "IMAGES"), _needed(out, "-o"), options)
        return
    if options["shard"]:
        _embed_part(_needed(images, "IMAGES"), options)
        return
    out = _needed(out, "-o")
    if options["embeddings"]:
        _score_embeddings(out, options)
        return
    quarantined = _score_images(_needed(images, "IMAGES, or --embeddings"), out, options, fleet)
    if quarantined > options["max_quarantined"]:
        ctx.exit(SOME_QUARANTINED)


def _needed(value: Path | None, name: str) -> Path:
    if value is None:
        raise ScopeError(f"scope score needs {name}; see scope score --help")
    return value


def _write_script(ctx: click.Context, images: Path, out: Path, options: dict[str, Any]) -> None:
    from scopefl.vision.scoring import check_labels_known

    job = Job.of(images, options)
    check_labels_known(job.source, job.kit.classes)
    script = sbatch(ctx, out, options)
    click.echo(f"{script}: look it through, then submit all its jobs with: bash {script}")


def _embed_part(images: Path, options: dict[str, Any]) -> None:
    part = parse_shard(options["shard"])
    embedded = Job.of(images, options).embedded(part)
    lost = sum(one.key is None for one in embedded.outcomes)
    click.echo(
        f"part {options['shard']}: {len(embedded.outcomes) - lost} embedded, {lost} unreadable; "
        "when all parts are done, run the same command without --shard"
    )


def parse_shard(text: str) -> tuple[int, int]:
    """Read I/N, parts counted from 1.

    >>> parse_shard("3/8")
    (2, 8)
    """
    found = re.fullmatch(r"(\d{1,6})/(\d{1,6})", text)
    if not found or not 1 <= int(found[1]) <= int(found[2]):
        raise ScopeError(f"--shard must be I/N with 1 <= I <= N, such as 3/8; got {text!r}")
    return int(found[1]) - 1, int(found[2])


def _score_images(images: Path, out: Path, options: dict[str, Any], fleet: "Fleet | None") -> int:
    from scopefl.data.files import read_bytes
    from scopefl.data.scores_file import write_scores
    from scopefl.vision.prototypes import LARGEST_MESSAGE, Centroids
    from scopefl.vision.scoring import score_embedded

    job = Job.of(images, options)
    merged = options["centroids"]
    means = (
        Centroids.from_bytes(read_bytes(merged, LARGEST_MESSAGE), job.kit.fingerprint)
        if merged
        else None
    )
    file, fit = score_embedded(job.embedded(fleet=fleet), job.rules, means)
    write_scores(file, out)
    return _told(file, fit, out)


def _told(file: "ScoresFile", fit: "Fitness", out: Path) -> int:
    from scopefl.cli.display import print_table

    click.echo(fit.sentence)
    print_table(
        "",
        ("class", "images", "recall", "margin", "AUC", "confused with"),
        (
            (
                row.name,
                row.samples,
                *(_number(x) for x in (row.recall, row.margin, row.auc)),
                row.confused_with or "",
            )
            for row in fit.classes
        ),
    )
    lost = file.quarantined
    click.echo(f"{out}: {file.table.num_rows - lost.num_rows} scored, {lost.num_rows} quarantined")
    if noted := file.table.num_rows - file.table["reason"].null_count - lost.num_rows:
        click.echo(f"decoded by more than reading: {noted}; the column reason says how")
    rows = ((row["path"], row["reason"]) for row in lost.to_pylist())
    echo_lost(rows, f"see scope show {out}")
    return int(lost.num_rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _score_embeddings(out: Path, options: dict[str, Any]) -> None:
    from scopefl.data.embeddings import score_embeddings
    from scopefl.data.scores_file import write_scores

    given = {name: options[name] for name in ("prototypes", "labels")}
    for name, value in given.items():
        _needed(value, f"--{name} beside --embeddings")
    file = score_embeddings(
        options["embeddings"],
        given["prototypes"],
        given["labels"],
        classes=options["classes"],
        ids=options["ids"],
    )
    write_scores(file, out)
    click.echo(f"{out}: {file.table.num_rows} samples scored in {len(file.classes)} classes")
