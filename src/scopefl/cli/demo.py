"""`scope demo`: the whole path on real images, ending with two tables and a page."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scopefl.core.policy import Agreement
    from scopefl.data.coreset_file import CoresetFile
    from scopefl.federation.demo import Site
    from scopefl.train.curves import Curve

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
KEEP = 0.3


@click.command()
@click.option("--images", type=FOLDER, help="Your own class folders instead of CIFAR-10.")
@click.option("--seed", default=0, show_default=True, help="Of the division and the wrong labels.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default="scope-demo", help="Where.")
def demo(images: Path | None, seed: int, out: Path) -> None:
    """Let ten sites with long-tailed, partly mislabelled images prune them together, and train."""
    from scopefl.cli.progress import progress
    from scopefl.data.demo_images import demo_images
    from scopefl.federation import demo as steps
    from scopefl.federation.by_file import Rule
    from scopefl.train.curves import write_curves
    from scopefl.vision.cache_folder import cache_folder

    cache = cache_folder()
    found = demo_images(images, cache)
    click.echo(f"images: {found.said}")
    kit = steps.demo_kit(found)
    click.echo(f"encoder: {kit.name}; 10 % of the labels are made wrong on purpose")
    folders = steps.write_sites(found, out, seed)
    total = sum(len(truth) for _, truth in folders) + min(len(found.test_labels), steps.N_TEST)
    with progress("embedding", total) as step:
        sites = steps.score_sites(folders, kit, cache, step)
        test = steps.embed_test(found, kit, cache, step)
    agreement = steps.agreed(sites, out / "policy.scope")
    paper = steps.select_sites(sites, agreement, Rule())
    budget = steps.select_sites(sites, agreement, Rule(keep=KEEP, p_l="auto"))
    _print_sites(sites, paper, budget)
    click.echo("training a linear head by FedAvg on what each rule keeps ...")
    curves = steps.compare(sites, paper, budget, test, seed)
    write_curves(curves, out / "curves.csv")
    _print_training(curves)
    _write_page(sites, agreement, curves, out)


def _print_sites(
    sites: "Sequence[Site]", paper: "Sequence[CoresetFile]", budget: "Sequence[CoresetFile]"
) -> None:
    from scopefl.cli.display import percent, print_table, size
    from scopefl.federation.demo import caught

    print_table(
        "what each site sent and keeps, by the paper's rule and by the budget rule",
        ("site", "images", "sent", "kept", "wrong labels caught", "kept, budget", "caught, budget"),
        (
            (
                site.name,
                len(site.truth),
                size(site.sent),
                percent(one.fates["kept"], len(site.truth)),
                "{} of {}".format(*caught(site, one)),
                percent(other.fates["kept"], len(site.truth)),
                "{} of {}".format(*caught(site, other)),
            )
            for site, one, other in zip(sites, paper, budget, strict=True)
        ),
    )


def _print_training(curves: "Sequence[Curve]") -> None:
    from scopefl.cli.display import percent, print_table

    print_table(
        "accuracy on clean test images of one linear head trained over all sites (one seed)",
        ("trained on", "images", "of all", "accuracy"),
        ((c.name, c.images, percent(c.images, curves[0].images), f"{c.final:.1%}") for c in curves),
    )


def _write_page(
    sites: "Sequence[Site]", agreement: "Agreement", curves: "Sequence[Curve]", out: Path
) -> None:
    from scopefl.errors import ScopeError

    try:
        from scopefl.report.inputs import read_sites
        from scopefl.report.page import write_report
    except ImportError as error:
        raise ScopeError(
            f"the page needs {error.name}: pip install 'scopefl[report]', then repeat"
        ) from error
    from scopefl.vision.cache_folder import cache_folder

    page = out / "report.html"
    found = read_sites(
        [site.folder.with_suffix(".paper.parquet") for site in sites],
        embeddings=[site.folder.with_suffix(".embeddings.npy") for site in sites],
        truth=[site.folder.with_suffix(".truth.txt") for site in sites],
        images=[site.folder for site in sites],
    )
    write_report(
        found,
        page,
        agreement=agreement,
        cache_in=cache_folder(),
        curves=curves,
        command="scope demo",
    )
    click.echo(f"{page}: open it in any browser; it needs no network")
