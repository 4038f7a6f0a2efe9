"""`scope profile`, `scope merge`, `scope select`: the round by file."""

from pathlib import Path

import click

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUT = click.Path(dir_okay=False, writable=True, path_type=Path)


@click.command()
@click.argument("scores", type=FILE)
@click.option("-o", "--out", type=OUT, required=True, help="The profile to write.")
def profile(scores: Path, out: Path) -> None:
    """Sum up SCORES into the small file a site sends: counts and sums per class."""
    from scopefl.cli.display import size
    from scopefl.data.files import write_bytes
    from scopefl.data.scores_file import read_scores

    file = read_scores(scores)
    summary = file.profile
    message = summary.to_bytes(file.fingerprint)
    write_bytes(out, message)
    present = int((summary.count > 0).sum())
    click.echo(
        f"{out}: {size(len(message))} about {summary.count.sum()} images in {present} of "
        f"{summary.n_classes} classes; no image, name or embedding is in it"
    )


@click.command()
@click.argument("profiles", type=FILE, nargs=-1, required=True)
@click.option("-o", "--out", type=OUT, required=True, help="The policy to write.")
@click.option("--expect", metavar="N|NAMES", help="How many sites there are, or their file names.")
@click.option("--gamma", default=1.0, show_default=True, help="Exponent of the rarity weight.")
@click.option("--max-samples", type=int, help="Refuse a site that claims more of one class.")
def merge(
    profiles: tuple[Path, ...], out: Path, expect: str | None, gamma: float, max_samples: int | None
) -> None:
    """Merge the sites' PROFILES into the policy that goes back to each of them."""
    from scopefl.cli.display import print_table, size
    from scopefl.core.profile import MAX_COUNT
    from scopefl.data.files import write_bytes
    from scopefl.federation.by_file import merge as merged
    from scopefl.federation.by_file import parse_expected

    agreement = merged(
        profiles, expected=parse_expected(expect), gamma=gamma, max_count=max_samples or MAX_COUNT
    )
    message = agreement.to_bytes()
    write_bytes(out, message)
    weight = agreement.policy.weight
    print_table(
        f"{out}: {agreement.sites} of {agreement.expected} sites, {size(len(message))}",
        ("class", "sites", "images", "weight"),
        zip(
            range(len(weight)),
            agreement.holders.tolist(),
            agreement.profile.count.tolist(),
            weight.tolist(),
            strict=True,
        ),
    )
    if expect is None:
        click.echo("No --expect was given: whether a site is missing was not checked.", err=True)


@click.command()
@click.argument("scores", type=FILE)
@click.option("--policy", type=FILE, required=True, help="What the coordinator sent back.")
@click.option("-o", "--out", type=OUT, required=True, help="The coreset to write.")
@click.option("--p-l", default="0.1", show_default=True, help="Share of anomalies, or auto.")
@click.option("--p-f", default="0.5", show_default=True, help="Share cut from target classes.")
@click.option("--beta", default=0.5, show_default=True, help="How near the top T_c is a target.")
@click.option("--keep", help="Use the budget rule and keep this fraction of all sites' images.")
@click.option("--client", help="This site's name in the budget rule.  [default: the scores' name]")
@click.option("--run", default="", help="A name all sites share, to round differently each run.")
@click.option("--prune-anyway", is_flag=True, help="Even if the encoder reads the classes badly.")
@click.option("--limits", type=FILE, help="A site.toml: what this site allows; it wins.")
def select(
    scores: Path,
    policy: Path,
    out: Path,
    p_l: str,
    p_f: str,
    beta: float,
    keep: str | None,
    client: str | None,
    run: str,
    prune_anyway: bool,
    limits: Path | None,
) -> None:
    """Decide which images of SCORES stay, and write each one's fate and why."""
    from scopefl.cli.display import percent
    from scopefl.data.coreset_file import write_coreset
    from scopefl.data.scores_file import read_scores
    from scopefl.federation.by_file import Rule, coreset, read_agreement
    from scopefl.federation.limits import read_limits

    agreement = read_agreement(policy)
    rule = Rule(p_l=p_l, p_f=p_f, beta=beta, keep=keep, run=run, prune_anyway=prune_anyway)
    own = read_limits(limits) if limits else None
    result = coreset(read_scores(scores), agreement, rule, client or scores.stem, own)
    write_coreset(result, out)
    fates = result.fates
    total = sum(fates.values())
    click.echo(
        f"{out}: "
        + ", ".join(f"{count} {fate} ({percent(count, total)})" for fate, count in fates.items())
    )
    if keep is None:
        click.echo(
            f"p_f {p_f} cuts target classes only; kept of all: {percent(fates['kept'], total)}"
        )
