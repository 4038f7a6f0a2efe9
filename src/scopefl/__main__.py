"""`python -m scopefl` is the command `scope`."""

from scopefl.cli.main import run

run()
