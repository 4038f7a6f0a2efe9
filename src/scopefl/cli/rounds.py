"""`scope profile`, `scope merge`, `scope select`: the round by file."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from scopefl.core.policy import Agreement

FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
OUT = click.Path(dir_okay=False, writable=True, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
MODE = click.Choice(["open", "min-cell", "secure-sum", "secure-sum+dp", "local-dp"])


@click.command()
@click.argument("scores", type=FILE)
@click.option("-o", "--out", type=OUT, required=True, help="The profile to write.")
@click.option("--mode", type=MODE, default="open", show_default=True, help="What may leave.")
@click.option("--call", type=FILE, help="The coordinator's call; its mode must be --mode.")
@click.option("--site", type=FOLDER, help="This site's folder of `scope keys new`, to sign.")
@click.option("--roster", type=FILE, help="Whose masks cancel, in secure-sum.")
@click.option("--specimen", metavar="REGEX", help="Its first group in an id names the specimen.")
def profile(
    scores: Path,
    out: Path,
    mode: str,
    call: Path | None,
    site: Path | None,
    roster: Path | None,
    specimen: str | None,
) -> None:
    """Sum up SCORES into the small file a site sends: counts and sums per class."""
    from scopefl.cli.display import size
    from scopefl.core.terms import Terms
    from scopefl.data.files import write_bytes
    from scopefl.federation import by_call

    if (call is None) != (site is None):
        raise click.UsageError("A call is answered with the site's keys: give --call and --site.")
    if call is None and Terms.of(mode).noisy:
        raise click.UsageError(f"{mode} spends epsilon, which a ledger limits: give --call.")
    file = by_call.opened(scores, specimen)
    if call is None or site is None:
        message = by_call.share(file, Terms.of(mode), specimen)
    else:
        message = by_call.answer(file, call, site, mode, roster, specimen)
    write_bytes(out, message)
    count = file.profile.count
    click.echo(
        f"{out}: {size(len(message))} about {count.sum()} images in {(count > 0).sum()} of "
        f"{len(count)} classes, mode {mode}; no image, name or embedding is in it"
    )
    if mode == "min-cell":
        held = (count > 0) & (count < 5)
        click.echo(f"held back: {held.sum()} classes of {count[held].sum()} images")
    if mode == "open":
        click.echo(f"open tells every class as it is; what that gives away: scope audit {scores}")


@click.command()
@click.argument("profiles", type=FILE, nargs=-1, required=True)
@click.option("-o", "--out", type=OUT, required=True, help="The policy to write.")
@click.option("--expect", metavar="N|NAMES", help="How many sites there are, or their file names.")
@click.option("--call", type=FILE, help="Take only signed answers to this call.")
@click.option("--after", type=FILE, help="The policy that this one follows, one version on.")
@click.option("--gamma", default=1.0, show_default=True, help="Exponent of the rarity weight.")
@click.option("--max-samples", type=int, help="Refuse a site that claims more of one class.")
@click.option("--robust", is_flag=True, help="Weighted median of sites, or of groups' policies.")
@click.option("--influence", is_flag=True, help="Print what each site moves (open, min-cell).")
def merge(
    profiles: tuple[Path, ...],
    out: Path,
    expect: str | None,
    call: Path | None,
    after: Path | None,
    gamma: float,
    max_samples: int | None,
    robust: bool,
    influence: bool,
) -> None:
    """Merge the sites' PROFILES into the policy that goes back to each of them."""
    from scopefl.core.profile import MAX_COUNT
    from scopefl.data.files import write_bytes
    from scopefl.federation import by_call, by_file

    if call is not None and after is not None:
        raise click.UsageError("A call has a round of its own: give --call or --after.")
    rule = "median" if robust else "sum"
    if call is None:
        agreement = by_file.merge(
            profiles,
            expected=by_file.parse_expected(expect),
            gamma=gamma,
            max_count=max_samples or MAX_COUNT,
            rule=rule,
        )
        agreement = agreement.after(by_file.read_agreement(after)) if after else agreement
    else:
        agreement, transcript = by_call.conclude(profiles, call, gamma, rule)
        write_bytes(out.with_name(f"{out.name}.transcript"), transcript.to_bytes())
    message = agreement.to_bytes()
    write_bytes(out, message)
    _print_policy(agreement, out, len(message))
    if influence:
        _print_influence(profiles, call)
    if expect is None and call is None:
        click.echo("No --expect was given: whether a site is missing was not checked.", err=True)


def _print_policy(agreement: "Agreement", out: Path, n_bytes: int) -> None:
    from scopefl.cli.display import print_table, size

    columns = agreement.holders, agreement.profile.count, agreement.policy.weight
    print_table(
        f"{out}: {agreement.sites} of {agreement.expected} sites, {agreement.terms}, "
        f"version {agreement.version}, {size(n_bytes)}",
        ("class", "sites", "images", "weight"),
        ((c, *row) for c, row in enumerate(zip(*(x.tolist() for x in columns), strict=True))),
    )


def _print_influence(profiles: tuple[Path, ...], call: Path | None) -> None:
    from scopefl.cli.display import print_table
    from scopefl.federation.by_call import influence

    print_table(
        "what each site moves: class means in sigmas, class shares in points of 100",
        ("site", "images", "means", "shares"),
        (tuple(vars(one).values()) for one in influence(profiles, call)),
    )


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
    from scopefl.federation import by_path
    from scopefl.federation.by_file import Rule, read_agreement
    from scopefl.federation.limits import read_limits

    agreement = read_agreement(policy)
    rule = Rule(p_l=p_l, p_f=p_f, beta=beta, keep=keep, run=run, prune_anyway=prune_anyway)
    own = read_limits(limits) if limits else None
    fates = by_path.select(scores, out, agreement, rule, client or scores.stem, own)
    total = sum(fates.values())
    click.echo(
        f"{out}: "
        + ", ".join(f"{count} {fate} ({percent(count, total)})" for fate, count in fates.items())
    )
    if keep is None:
        click.echo(
            f"p_f {p_f} cuts target classes only; kept of all: {percent(fates['kept'], total)}"
        )
