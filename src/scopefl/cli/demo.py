"""`scope demo`: the whole path on real images, ending with two tables and two pages."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scopefl.core.policy import Agreement
    from scopefl.data.coreset_file import CoresetFile
    from scopefl.federation.demo import Outcome, Site
    from scopefl.train.curves import Curve

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
PAGES = {"paper": "report.html", "budget": "report-budget.html"}


@click.command()
@click.option("--images", type=FOLDER, help="Your own class folders instead of CIFAR-10.")
@click.option("--seed", default=0, show_default=True, help="Of the division and the wrong labels.")
@click.option("-o", "--out", type=click.Path(path_type=Path), default="scope-demo", help="Where.")
def demo(images: Path | None, seed: int, out: Path) -> None:
    """Let ten sites with long-tailed, partly mislabelled images prune them together, and train."""
    from scopefl.cli.display import size
    from scopefl.cli.progress import progress
    from scopefl.data.demo_images import demo_images
    from scopefl.federation import demo as steps
    from scopefl.train.curves import write_curves
    from scopefl.vision.cache_folder import cache_folder

    started, cache = time.monotonic(), cache_folder()
    found = demo_images(images, cache, lambda text: click.echo(f"1/6 {text}"))
    click.echo(f"    {found.said}")
    click.echo(
        "2/6 writing ten sites' folders, long-tailed, 10 % of the labels wrong on purpose ..."
    )
    folders = steps.write_sites(found, out, seed)
    kit = steps.demo_kit(found)
    click.echo(f"3/6 each site scores its images; encoder: {kit.name} ...")
    total = sum(len(truth) for _, truth in folders) + min(len(found.test_labels), steps.N_TEST)
    with progress("embedding", total) as step:
        sites = steps.score_sites(folders, kit, cache, step)
        test = steps.embed_test(found, kit, cache, step)
    if sites[0].scores.settings["prototypes"] == "visual":
        click.echo("    it cannot read these class names: scored against class means of all sites")
    agreement = steps.agreed(sites, out / "policy.scope")
    sent, back = sum(site.sent for site in sites), len(agreement.to_bytes())
    click.echo(f"4/6 the sites sent {size(sent)} in all, and {size(back)} came back to each")
    paper = steps.select_sites(sites, agreement, steps.PAPER)
    budget = steps.select_sites(sites, agreement, steps.BUDGET)
    _print_sites(sites, paper, budget)
    click.echo("5/6 training a linear head by FedAvg on what each rule keeps ...")
    curves = steps.compare(sites, paper, budget, test, seed)
    write_curves(curves, out / "curves.csv")
    _print_training(curves)
    click.echo("6/6 drawing the pages (a map of the embeddings takes longest, the first time) ...")
    for rule, name in PAGES.items():
        _write_page(sites, agreement, curves, rule, out / name)
    _print_next(out, time.monotonic() - started)


def _print_sites(
    sites: "Sequence[Site]", paper: "Sequence[CoresetFile]", budget: "Sequence[CoresetFile]"
) -> None:
    from scopefl.cli.display import print_table
    from scopefl.federation import demo as steps

    by_paper = [steps.Outcome.of(*both) for both in zip(sites, paper, strict=True)]
    by_budget = [steps.Outcome.of(*both) for both in zip(sites, budget, strict=True)]
    names = [*(site.name for site in sites), "all"]
    by_paper, by_budget = ([*rows, steps.total(rows)] for rows in (by_paper, by_budget))
    print_table(
        "what each site sent and keeps, by the paper's rule and by the budget rule",
        ("site", "images", "sent", "kept", "wrong labels caught", "kept, budget", "caught, budget"),
        map(_row, names, by_paper, by_budget),
    )


def _row(name: str, paper: "Outcome", budget: "Outcome") -> tuple[object, ...]:
    from scopefl.cli.display import percent, size

    return (
        name,
        paper.images,
        size(paper.sent),
        percent(paper.kept, paper.images),
        f"{paper.caught} of {paper.wrong}",
        percent(budget.kept, budget.images),
        f"{budget.caught} of {budget.wrong}",
    )


def _print_training(curves: "Sequence[Curve]") -> None:
    from scopefl.cli.display import percent, print_table

    print_table(
        "accuracy on clean test images of one linear head trained over all sites (one seed)",
        ("trained on", "images", "of all", "accuracy"),
        (
            (c.name, c.images, percent(c.images, curves[0].images), f"{100 * c.final:.1f} %")
            for c in curves
        ),
    )


def _write_page(
    sites: "Sequence[Site]",
    agreement: "Agreement",
    curves: "Sequence[Curve]",
    rule: str,
    page: Path,
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

    found = read_sites(
        [site.folder.with_suffix(f".{rule}.parquet") for site in sites],
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


def _print_next(out: Path, seconds: float) -> None:
    click.echo(
        f"done in {seconds:.0f} s\n\n"
        f"{out / PAGES['paper']}: open it in any browser; it needs no network\n"
        f"{out / PAGES['budget']}: the same images under the budget rule\n"
        "Your own images, in class folders: scope demo --images FOLDER --out my-demo"
    )
