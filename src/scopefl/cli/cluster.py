"""The options of `scope score` for clusters: Ray's actors, or a script for Slurm's sbatch."""

import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from scopefl.errors import ScopeError

if TYPE_CHECKING:
    from scopefl.vision.ray_cluster import Fleet

OPTIONS = (
    click.option("--engine", type=click.Choice(["here", "ray"]), default="here", show_default=True,
                 help="Embed in this process, or by Ray on the cluster of RAY_ADDRESS."),
    click.option("--workers", type=click.IntRange(1), help="With ray.  [default: all there is]"),
    click.option("--cpus", type=click.IntRange(1), help="Cores of each worker or Slurm task."),
    click.option("--gpus", type=click.FloatRange(0), help="Graphics cards of each, such as 1."),
    click.option("--sbatch", type=click.IntRange(1), metavar="N",
                 help="Only write a Slurm script that embeds in N parts and joins them in -o."),
)  # fmt: skip
SCRIPT = """\
#!/bin/bash
# Run `bash {name}`: it submits {parts} parts as an array, then the job that joins them.
# Parts that were killed, requeued or failed go on where they were: run it again.
# Account and partition: export SBATCH_ACCOUNT and SBATCH_PARTITION, or add lines below.
#SBATCH --job-name=scope-{job}
#SBATCH --time=24:00:00
#SBATCH --cpus-per-task={cpus}{gpus}
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%j.log
set -euo pipefail
score=({command})
case ${{1:-submit}} in
  submit)
    parts=$(sbatch --parsable --array=1-{parts} "$0" part)
    sbatch --dependency="afterok:${{parts%%;*}}" --kill-on-invalid-dep=yes "$0" join ;;
  part) exec "${{score[@]}}" --shard "$SLURM_ARRAY_TASK_ID/{parts}" ;;
  join) exec "${{score[@]}}" -o {out} ;;
esac
"""
CPUS = 4
NOT_REPEATED = {"sbatch", "out", "cpus", "gpus", "cache"}


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add OPTIONS to a command, which gets them as keyword arguments."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def fleet_of(options: dict[str, Any]) -> "Fleet | None":
    """Give the actors that were asked for, or none; refuse options that contradict."""
    asked = [name for name in ("workers", "cpus", "gpus") if options[name] is not None]
    if options["engine"] == "ray":
        for name in ("shard", "sbatch", "embeddings"):
            if options[name]:
                raise ScopeError(f"--engine ray divides the work itself; leave out --{name}")
        from scopefl.vision.ray_cluster import Fleet

        return Fleet(**{name: options[name] for name in asked})
    if "workers" in asked or (asked and not options["sbatch"]):
        raise ScopeError(f"--{asked[0]} needs --engine ray; --sbatch takes --cpus and --gpus too")
    return None


def sbatch(ctx: click.Context, out: Path, options: dict[str, Any]) -> Path:
    """Write the script beside the scores file that its last job writes."""
    from scopefl.data.files import write_bytes
    from scopefl.vision.cache_folder import cache_folder

    if options["shard"]:
        raise ScopeError("--sbatch makes the shards itself; leave out --shard")
    script, out = out.with_suffix(".sbatch"), out.absolute()
    cache = (options["cache"] or cache_folder()).absolute()
    words = [sys.executable, "-m", "scopefl", "score", *_repeated(ctx), "--cache", str(cache)]
    gpus = f"\n#SBATCH --gpus-per-task={options['gpus']:g}" if options["gpus"] else ""
    text = SCRIPT.format(
        name=shlex.quote(script.name),
        job="".join(c if c.isalnum() else "-" for c in out.stem),
        parts=options["sbatch"],
        cpus=options["cpus"] or CPUS,
        gpus=gpus,
        command=shlex.join(words),
        out=shlex.quote(str(out)),
    )
    write_bytes(script, text.encode("utf-8", "surrogateescape"))
    return script


def _repeated(ctx: click.Context) -> Iterator[str]:
    """Give what this command was called with, paths absolute, as words of another call."""
    for parameter in ctx.command.params:
        name = parameter.name or ""
        given = ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and name not in NOT_REPEATED:
            value = ctx.params[name]
            is_place = isinstance(value, Path) or (name == "kit" and Path(value).is_dir())
            if isinstance(parameter, click.Option):
                yield parameter.opts[-1]
                if parameter.is_flag:
                    continue
            yield str(Path(value).absolute() if is_place else value)
