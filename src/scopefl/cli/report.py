"""`scope report`: one HTML page about one or more coresets."""

import shlex
from collections.abc import Mapping
from pathlib import Path

import click

from scopefl.cli.rounds import FILE, OUT
from scopefl.errors import ScopeError

SHOWN = 20


@click.command()
@click.argument("coresets", type=FILE, nargs=-1, required=True)
@click.option("-o", "--out", type=OUT, required=True, help="The HTML file to write.")
@click.option("--policy", type=FILE, help="What the coordinator sent back: shows what it tells.")
@click.option("--embeddings", type=FILE, multiple=True, help="A .npy a coreset, in their order.")
@click.option("--truth", type=FILE, multiple=True, help="True labels, a file a coreset.")
@click.option(
    "--images",
    type=click.Path(exists=True, path_type=Path),
    multiple=True,
    help="Where the images are, as given to `scope score`; one a coreset, or one for all.",
)
@click.option("--curves", type=FILE, help="Accuracy by round: a CSV as `scope demo` writes it.")
@click.option("--kit", help="With --images: draw the map from what this kit embedded, as offline.")
def report(
    coresets: tuple[Path, ...],
    out: Path,
    policy: Path | None,
    embeddings: tuple[Path, ...],
    truth: tuple[Path, ...],
    images: tuple[Path, ...],
    curves: Path | None,
    kit: str | None,
) -> None:
    """Show what CORESETS keep and why, on one page that needs no network.

    The page holds thumbnails and names of images: share it as you would share those.
    """
    from scopefl.cli.display import size
    from scopefl.federation.by_file import read_agreement
    from scopefl.report.inputs import read_sites
    from scopefl.report.page import write_report
    from scopefl.train.curves import read_curves
    from scopefl.vision.cache_folder import cache_folder

    _one_each("--embeddings", embeddings, coresets)
    _one_each("--truth", truth, coresets)
    images = images * len(coresets) if len(images) == 1 else images
    _one_each("--images", images, coresets)
    if kit and not images:
        raise ScopeError("--kit embeds images; give them by --images")
    given = {"--embeddings": embeddings, "--truth": truth, "--images": images}
    sites = read_sites(coresets, embeddings=embeddings, truth=truth, images=images, kit=kit)
    written = write_report(
        sites,
        out,
        agreement=None if policy is None else read_agreement(policy),
        cache_in=cache_folder(),
        curves=read_curves(curves) if curves else (),
        command=_command(
            coresets,
            out,
            {
                "--policy": (policy,) if policy else (),
                **given,
                "--curves": (curves,) if curves else (),
            },
            kit,
        ),
    )
    number = "1 coreset" if len(sites) == 1 else f"{len(sites)} coresets"
    click.echo(f"{out}: {size(written)} about {number}; open it in any browser")


def _one_each(option: str, files: tuple[Path, ...], coresets: tuple[Path, ...]) -> None:
    if files and len(files) != len(coresets):
        raise ScopeError(
            f"{option} must be given once for each of the {len(coresets)} coresets, in their "
            f"order, got {len(files)}"
        )


def _command(
    coresets: tuple[Path, ...], out: Path, options: Mapping[str, tuple[Path, ...]], kit: str | None
) -> str:
    """Give the command without folders, which are nobody's business."""
    words = ["scope", "report", *(path.name for path in coresets[:SHOWN]), "-o", out.name]
    for option, paths in options.items():
        for path in dict.fromkeys(paths[:SHOWN]):
            words += [option, path.name]
    words += ["--kit", Path(kit).name] if kit else []
    return shlex.join(words) + (" ..." if len(coresets) > SHOWN else "")
