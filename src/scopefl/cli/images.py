"""The options of every command that reads images: the collection, the kit, how to decode."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scopefl.cli.rounds import FILE

if TYPE_CHECKING:
    from scopefl.data.rules import DecodingRules
    from scopefl.data.source import Source
    from scopefl.vision.kit import Kit
    from scopefl.vision.ray_cluster import Fleet
    from scopefl.vision.scoring import Embedded

FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
RUNTIME = "onnxruntime, onnxruntime-cuda, openvino, openvino-bf16 or openvino-int8."
ENCODING = (
    click.option("--kit", help="A kit's folder.  [default: offline, which is built in]"),
    click.option("--classes", type=FILE, help="Class names, one a line.  [default: folder names]"),
    click.option("--numbered", is_flag=True, help="Labels count the classes from 0."),
    click.option("--cache", type=click.Path(path_type=Path), help="Where embeddings are kept."),
    click.option("--runtime", default="auto", show_default=True, help=RUNTIME),
)
READING = (
    click.option("--window", help="LOW,HIGH, bits:N or auto-percentile, for deep pixels."),
    click.option("--channels", help="One channel or three, by number or name: 2 or 0,1,2."),
    click.option("--project", help="How a stack becomes a plane: max, mean, first, a number."),
    click.option("--axes", help="What the axes of bare arrays are, such as CYX."),
    click.option("--background", default="white", show_default=True, help="Behind transparency."),
    click.option("--max-nan", type=float, default=0.05, show_default=True, help="Share filled in."),
    click.option("--max-pixels", type=int, default=64_000_000, show_default=True, help="The cap."),
    click.option("--min-side", type=int, default=8, show_default=True, help="Least side, pixels."),
    click.option("--path-column", help="Of a table: where the images are named."),
    click.option("--image-column", help="Of a saved hub dataset: where the images are."),
    click.option("--label-column", help="Of a table or hub dataset: where the labels stand."),
    click.option("--root", type=FOLDER, help="Of a table: where its paths start.  [its folder]"),
    click.option("--label-member", help="Of tars: cls, or json:FIELD.  [default: cls]"),
    click.option("--label", help="Of the pages of one TIFF: the class of all."),
    click.option("--array", help="Of HDF5 or Zarr: the name of the images' array."),
    click.option("--label-array", help="Of HDF5 or Zarr: the name of the labels' array."),
)
MANY, SHOWN = 20, 5
"""Classes or warnings, and unreadable images, that are printed before the rest is only counted."""
DECODING = ("window", "channels", "project", "axes", "background")
LIMITS = ("max_nan", "max_pixels", "min_side")
SOURCE = (
    "path_column", "image_column", "label_column", "root", "label_member", "label", "array",
    "label_array",
)  # fmt: skip


def image_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ENCODING and READING to a command, which gets them as keyword arguments."""
    command = reading_options(command)
    for option in reversed(ENCODING):
        command = option(command)
    return command


def reading_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add READING alone: which images, and how they are decoded."""
    for option in reversed(READING):
        command = option(command)
    return command


def opened(
    images: Path, options: dict[str, Any], growing: bool = False
) -> "tuple[Source, DecodingRules]":
    """Give the collection and the rules that the READING options ask for."""
    from scopefl.data.hdf5 import SUFFIXES
    from scopefl.data.opening import open_source
    from scopefl.data.rules import DecodingRules

    rules = DecodingRules.parse(**{name: options[name] for name in (*DECODING, *LIMITS)})
    names = {name: options[name] for name in SOURCE}
    if growing and images.suffix.lower() in SUFFIXES:
        names["growing"] = True
    return open_source(images, **names), rules


@dataclass(frozen=True)
class Job:
    """What the options ask for."""

    source: "Source"
    kit: "Kit"
    rules: "DecodingRules"
    cache: Path
    runtime: str

    @classmethod
    def of(
        cls,
        images: Path,
        options: dict[str, Any],
        known: tuple[str, ...] | None = None,
        growing: bool = False,
    ) -> "Job":
        """Open the collection and the kit, and show the classes before any work.

        `known` classes take the place of folder names where none are given.
        """
        from scopefl.data.embeddings import read_lines
        from scopefl.data.numbered import Numbered
        from scopefl.vision.cache_folder import cache_folder
        from scopefl.vision.kit import OFFLINE, Kit
        from scopefl.vision.scoring import class_list, with_rules

        source, rules = opened(images.absolute(), options, growing)
        given = read_lines(options["classes"]) if options["classes"] else known
        where = options["kit"] or OFFLINE
        classes = class_list(source, given) if where == OFFLINE else given
        kit = with_rules(Kit.load(where, classes), rules, options["runtime"])
        if options["numbered"]:
            source = Numbered(source, kit.classes)
        click.echo(f"{len(source)} images; {len(kit.classes)} classes: {_listed(kit.classes)}")
        click.echo(f"kit {kit.name}")
        if ignored := getattr(source, "ignored", 0):
            click.echo(f"files left out by their names (documents, hidden): {ignored}")
        echo_warnings(kit)
        return cls(source, kit, rules, options["cache"] or cache_folder(), options["runtime"])

    def embedded(self, part: tuple[int, int] = (0, 1), fleet: "Fleet | None" = None) -> "Embedded":
        """Embed what the cache lacks, here or by a fleet, and show how far it is."""
        from scopefl.cli.progress import progress
        from scopefl.vision.scoring import embed_source

        asked = (self.source, self.kit, self.rules, self.cache)
        total = len(range(part[0], len(self.source), part[1]))
        with progress("embedding", total) as step:
            told: dict[str, Any] = {"runtime": self.runtime, "passed": lambda _: step()}
            if fleet is None:
                return embed_source(*asked, part=part, **told)
            from scopefl.vision.on_ray import embed_by_ray

            return embed_by_ray(*asked, fleet=fleet, **told)


def echo_warnings(kit: "Kit", most: int = MANY) -> None:
    """Print what a user of the kit's classes should hear, at most so many."""
    warnings = kit.manifest.warnings
    for warning in warnings[:most]:
        click.echo(f"warning: {warning}", err=True)
    if len(warnings) > most:
        click.echo(f"warning: {len(warnings) - most} more; see scope kit show", err=True)


def echo_lost(rows: Iterable[tuple[str, str | None]], where: str) -> None:
    """Print the paths and reasons of the first few that could not be read."""
    lost = list(rows)
    for path, reason in lost[:SHOWN]:
        click.echo(f"  {path}: {reason}", err=True)
    if len(lost) > SHOWN:
        click.echo(f"  and {len(lost) - SHOWN} more; {where}", err=True)


def _listed(classes: tuple[str, ...]) -> str:
    shown = ", ".join(classes[:MANY])
    return shown if len(classes) <= MANY else f"{shown} and {len(classes) - MANY} more"
