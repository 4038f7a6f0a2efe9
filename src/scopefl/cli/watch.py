"""`scope watch` and `scope forget`: a folder that an instrument fills, and taking images back."""

import json
import signal
import sys
from pathlib import Path
from threading import Event as Flag
from typing import TYPE_CHECKING, Any

import click

from scopefl.cli.images import Job, image_options
from scopefl.cli.rounds import FILE, OUT

if TYPE_CHECKING:
    from scopefl.stream.events import Event

FEW = click.IntRange(min=5)
"""Of three images or fewer, sums give every score away."""
PUBLIC = click.Choice(["open", "min-cell"])
STATE = click.Path(file_okay=False, path_type=Path)


@click.command()
@click.argument("images", type=click.Path(exists=True, path_type=Path))
@image_options
@click.option("--state", type=STATE, required=True, help="Where the stream remembers itself.")
@click.option("--coreset", type=OUT, help="The coreset to write at every checkpoint.")
@click.option("--policy", type=FILE, help="The sites' policy.  [default: this stream's own]")
@click.option("--p-l", default="0.1", show_default=True, help="Share of anomalies, or auto.")
@click.option("--p-f", default="0.5", show_default=True, help="Share cut from target classes.")
@click.option("--beta", default=0.5, show_default=True, help="How near the top T_c is a target.")
@click.option("--keep", help="Use the budget rule and keep this fraction of all sites' images.")
@click.option("--client", help="This site's name in the budget rule.  [default: the folder's]")
@click.option("--run", default="", help="A name all sites share, to round differently each run.")
@click.option("--prune-anyway", is_flag=True, help="Even if the encoder reads the classes badly.")
@click.option("--limits", type=FILE, help="A site.toml: what this site allows; it wins.")
@click.option("--hold", metavar="N|SPAN", help="Only the last so many (100000), or of a span (7d).")
@click.option("--store", type=int, help="Select from a level sample of so many (with --keep).")
@click.option("--publish", type=OUT, help="The profile to write when enough images came or left.")
@click.option("--mode", type=PUBLIC, default="open", show_default=True, help="What it may tell.")
@click.option("--least", type=FEW, default=5, show_default=True, help="Fewest told apart.")
@click.option("--drift", type=OUT, help="Write every checkpoint's drift, class by class, as JSON.")
@click.option("--once", is_flag=True, help="Take what is there until it is still, then end.")
@click.option("--poll", default=2.0, show_default=True, help="Seconds between looks, at least.")
@click.option("--settle", default=2.0, show_default=True, help="Seconds a file must be still.")
@click.option("--every", default=60.0, show_default=True, help="Seconds between checkpoints.")
@click.option("--each", is_flag=True, help="Tell of every image that came or met another fate.")
def watch(images: Path, state: Path, **options: Any) -> None:
    """Take every image that comes into IMAGES and decide at once whether to keep it.

    IMAGES is a folder of class folders, or an HDF5 file that grows. Killed at any moment, the same
    command goes on where it was. Ctrl-C ends it with a checkpoint.
    """
    from scopefl.core.terms import Terms
    from scopefl.federation.by_file import Rule
    from scopefl.federation.limits import read_limits
    from scopefl.stream.forgetting import Window
    from scopefl.stream.state import known_classes
    from scopefl.stream.stream import Plan, Stream
    from scopefl.stream.watching import Pace, open_arrivals
    from scopefl.stream.watching import watch as watched

    job = Job.of(images, options, known_classes(state), growing=True)
    names = ("p_l", "p_f", "beta", "keep", "run", "prune_anyway")
    mode, least = options["mode"], options["least"]
    plan = Plan(
        rule=Rule(**{name: options[name] for name in names}),
        client=options["client"] or images.resolve().name,
        limits=read_limits(options["limits"]) if options["limits"] else None,
        window=Window.parse(options["hold"]) if options["hold"] else None,
        profile=options["publish"],
        terms=Terms.of(mode, min_cell=None if mode == "open" else least),
        **{name: options[name] for name in ("coreset", "policy", "store", "least", "drift")},
    )
    pace = Pace(options["poll"], options["settle"], options["every"], options["once"], _stopped())
    with Stream(
        state, job.kit, plan, rules=job.rules, cache=job.cache, runtime=job.runtime
    ) as stream:
        arrivals = open_arrivals(
            images, stream, pace.settle, options["array"], options["label_array"]
        )
        for event in watched(arrivals, stream, pace):
            _tell(event, options["each"])


def _stopped() -> Flag:
    """Give a flag that the usual signals raise, so that the last checkpoint is still made."""
    flag = Flag()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: flag.set())
    return flag


def _tell(event: "Event", each: bool) -> None:
    from scopefl.stream.events import Arrival, Checkpoint

    if isinstance(event, Arrival) and not each and event.reason is None:
        return
    if isinstance(event, Checkpoint) and each:
        for revision in event.revisions:
            _tell(revision, each)
    if sys.stdout.isatty():
        click.echo(event.sentence)
    else:
        click.echo(json.dumps(event.line, ensure_ascii=False))


@click.command()
@click.argument("ids", nargs=-1)
@click.option("--state", type=STATE, required=True, help="The folder of scope watch --state.")
@click.option("--class", "classes", multiple=True, help="Every image of a class, by its name.")
def forget(ids: tuple[str, ...], state: Path, classes: tuple[str, ...]) -> None:
    """Take images back out of a stream, exactly, and never take them again.

    IDS are those of the coreset. A running scope watch notices and selects anew.
    """
    from scopefl.stream.forgetting import forget as forgotten
    from scopefl.stream.state import State

    if not ids and not classes:
        raise click.UsageError("Name the images to forget by their ids, or --class NAME.")
    with State(state) as opened:
        count = forgotten(opened, ids, classes)
        left = int(opened.profile.count.sum())
    click.echo(f"{count} images forgotten, {left} left in the profile; {ABOUT_THE_REST}")


ABOUT_THE_REST = (
    "profiles that were sent before still hold them, and the cache holds their embeddings: "
    "publish anew, and delete the cache if it must go too"
)
