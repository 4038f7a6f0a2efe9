"""`scope kit`: build, check, show and compare encoder kits."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scopefl.cli.images import RUNTIME, echo_warnings, opened, reading_options
from scopefl.cli.rounds import FILE
from scopefl.errors import FingerprintError, RefusedError, ScopeError

if TYPE_CHECKING:
    from scopefl.vision.backbones import Backbone
    from scopefl.vision.kit import Kit
    from scopefl.vision.weights import Weights

FOLDER = click.Path(file_okay=False, path_type=Path)
CLASSES = click.option(
    "--classes", type=FILE, help="A class name a line; the kit offline needs it."
)
RUNS = click.option("--runtime", default="auto", show_default=True, help=RUNTIME)


@click.group()
def kit() -> None:
    """Encoder kits: all that a site needs to score images, in one folder."""


@kit.command()
@click.option("--backbone", default="mobileclip-s2", show_default=True, help="See `kit backbones`.")
@click.option("--classes", type=FILE, required=True, help="A class name a line.")
@click.option("--prompts", type=FILE, help="A template with {class_name} a line.  [the paper's 5]")
@click.option(
    "--weights", type=FILE, help="A local safetensors file, for machines without network."
)
@click.option("--revision", help="Commit of the hub repository to take.")
@click.option("--yes", is_flag=True, help="Download a revision that nobody pinned.")
@click.option("-o", "--out", type=FOLDER, required=True, help="The kit's folder to write.")
def build(
    backbone: str,
    classes: Path,
    prompts: Path | None,
    weights: Path | None,
    revision: str | None,
    yes: bool,
    out: Path,
) -> None:
    """Build a kit: towers exported, prototypes made, canaries run."""
    from scopefl.data.embeddings import read_lines
    from scopefl.vision.prompts import TEMPLATES, check_classes, check_templates

    names = check_classes(read_lines(classes))
    templates = check_templates(read_lines(prompts) if prompts else TEMPLATES)
    if out.exists():
        raise ScopeError(f"{out} must not exist yet; choose another name or delete it")
    if backbone == "offline":
        from scopefl.vision.offline.kit import offline_kit

        made = offline_kit(names, templates)
    else:
        from scopefl.vision.backbones import backbone as known
        from scopefl.vision.build import build_kit

        entry = known(backbone)
        click.echo(f"{entry.name}: {entry.licence}; {entry.megabytes} MB; {entry.source}", err=True)
        made = build_kit(entry, _weights(entry, weights, revision, yes), names, templates)
    made.save(out)
    echo_warnings(made)
    click.echo(f"{out}: {made.name} for {len(made.classes)} classes")
    click.echo(f"fingerprint {made.fingerprint.hex()}")


def _weights(entry: "Backbone", path: Path | None, revision: str | None, yes: bool) -> "Weights":
    from scopefl.vision.weights import hub_weights, local_weights

    if path is not None:
        return local_weights(path, entry)
    if not (entry.pinned or revision or yes):
        raise RefusedError(
            f"no revision of {entry.source} is pinned; name one with --revision COMMIT, or accept "
            "the newest with --yes (the kit records the commit and hash it got)"
        )
    return hub_weights(entry, revision)


@kit.command()
@click.argument("where", metavar="KIT")
@CLASSES
@RUNS
def check(where: str, classes: Path | None, runtime: str) -> None:
    """Run the canaries of KIT here: pass, or what differs (exit code 4)."""
    found = _load(where, classes).check(runtime)
    if not found.passed:
        raise FingerprintError(f"{where} {found}")
    click.echo(str(found))


@kit.command()
@click.argument("where", metavar="KIT")
@CLASSES
def show(where: str, classes: Path | None) -> None:
    """Say what KIT is: backbone, licence, classes, preprocessing, fingerprint."""
    from scopefl.cli.display import print_table, size

    found = _load(where, classes)
    origin, rule = found.manifest.origin, found.manifest.preprocessing
    rows = [
        ("backbone", origin.backbone),
        ("source", origin.source),
        ("revision", origin.revision),
        ("licence", origin.licence),
        ("weights SHA-256", origin.weights_sha256),
        ("tower", f"{size(len(found.model))}, {rule.size} pixels, {found.manifest.dim} numbers"),
        ("preprocessing", f"{rule.resize}, {rule.interpolation}, mean {rule.mean}, std {rule.std}"),
        ("classes", ", ".join(found.classes)),
        ("prompts", " | ".join(found.manifest.prompts)),
        ("fingerprint", found.fingerprint.hex()),
    ]
    print_table(str(where), ("what", "is"), rows)
    if origin.description:
        click.echo(origin.description)
    echo_warnings(found, most=len(found.classes))


@kit.command()
@click.argument("where", metavar="KIT")
@click.argument("images", type=click.Path(exists=True, path_type=Path))
@click.option("--runtime", required=True, help=f"Against onnxruntime: {RUNTIME}")
@CLASSES
@reading_options
def compare(where: str, images: Path, runtime: str, classes: Path | None, **options: Any) -> None:
    """Say how far the selection moves under another runtime, on the pictures in IMAGES."""
    from scopefl.vision.agreement import compare_runtimes, pictures

    found = _load(where, classes)
    agreed = compare_runtimes(found, runtime, *pictures(found, *opened(images, options)))
    click.echo(
        f"{runtime} against onnxruntime f32 on {agreed.images} images, paper's rule: "
        f"Jaccard of kept {agreed.kept:.4f}, of anomalous {agreed.anomalous:.4f}, "
        f"largest score difference {agreed.largest_difference:.1e}"
    )


@kit.command()
def backbones() -> None:
    """List what `kit build` can build from, and under which licence."""
    from scopefl.cli.display import print_table
    from scopefl.vision.backbones import backbones as known

    columns = ("backbone", "licence", "MB", "pixels", "source", "revision")
    print_table(
        "backbones",
        columns,
        [
            (b.name, b.licence, b.megabytes, b.pixels, b.source, b.revision[:12])
            for b in known().values()
        ],
    )


def _load(where: str, classes: Path | None) -> "Kit":
    from scopefl.data.embeddings import read_lines
    from scopefl.vision.kit import Kit

    return Kit.load(where, read_lines(classes) if classes else None)
