"""`scope demo`: the whole round, on data that comes with the command."""

import click


@click.command()
@click.option("--seed", default=0, show_default=True, help="Of the synthetic embeddings.")
def demo(seed: int) -> None:
    """Run three sites and a coordinator on synthetic embeddings and print what each keeps."""
    from scopefl.cli.display import percent, print_table, size
    from scopefl.federation.demo import synthetic_round

    rows = synthetic_round(seed)
    print_table(
        "three sites, 10 classes, long-tailed; 10 % of the labels are wrong on purpose",
        ("site", "images", "sent", "kept", "anomalous", "redundant", "wrong labels caught"),
        (
            (
                row.site,
                row.images,
                size(row.sent),
                percent(row.kept, row.images),
                row.anomalous,
                row.redundant,
                percent(row.caught, row.wrong),
            )
            for row in rows
        ),
    )
