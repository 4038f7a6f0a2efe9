"""The command `scope`: which commands there are, and how errors become sentences and exit codes."""

import importlib
import sys
from typing import Any

import click

from scopefl import __version__
from scopefl.errors import ScopeError

COMMANDS: dict[str, str] = {
    "demo": "scopefl.cli.demo:demo",
    "score": "scopefl.cli.score:score",
    "profile": "scopefl.cli.rounds:profile",
    "merge": "scopefl.cli.rounds:merge",
    "audit": "scopefl.cli.audit:audit",
    "call": "scopefl.cli.calls:call",
    "roster": "scopefl.cli.calls:roster",
    "keys": "scopefl.cli.keys:keys",
    "select": "scopefl.cli.rounds:select",
    "show": "scopefl.cli.show:show",
    "watch": "scopefl.cli.watch:watch",
    "forget": "scopefl.cli.watch:forget",
    "report": "scopefl.cli.report:report",
    "why": "scopefl.cli.explain:why",
    "sweep": "scopefl.cli.explain:sweep",
    "export": "scopefl.cli.export:export",
    "run": "scopefl.cli.run:run",
    "tables": "scopefl.cli.run:tables",
    "kit": "scopefl.cli.kit:kit",
    "centroids": "scopefl.cli.centroids:centroids",
    "invite": "scopefl.cli.sites:invite",
    "admit": "scopefl.cli.sites:admit",
    "serve": "scopefl.cli.sites:serve",
    "join": "scopefl.cli.sites:join",
    "flower": "scopefl.cli.flower:flower",
}


INTERRUPTED = 130
"""What a shell says of a command that Ctrl-C ended."""


class LazyGroup(click.Group):
    """A group that imports a command's file only when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Name every command, in the order people use them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import one command from `module:name`."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; a ScopeError becomes one sentence and its exit code."""
        try:
            return super().invoke(ctx)
        except ScopeError as error:
            click.echo(f"scope: {error}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("scope: interrupted", err=True)
            ctx.exit(INTERRUPTED)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="scope")
def scope() -> None:
    """Prune private image collections as if they had been pruned together.

    Exit codes: 0 done, 1 bug, 2 usage, 3 some inputs quarantined, 4 fingerprints differ,
    5 refused by a guard, 6 a federated run failed, 130 interrupted.
    """


def run() -> None:
    """Start the command line; what reaches here as an exception is a bug and exits with 1."""
    sys.exit(scope.main(prog_name="scope", standalone_mode=True))
