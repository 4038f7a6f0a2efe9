"""`scope flower`: a ready Flower app, and a run whose failure is an exit code."""

from pathlib import Path
from tempfile import TemporaryDirectory

import click

FOLDER = click.Path(file_okay=False, path_type=Path)


@click.group()
def flower() -> None:
    """Train together on coresets, with Flower."""


@flower.command()
@click.argument("folder", type=FOLDER)
def new(folder: Path) -> None:
    """Write a ready Flower app into FOLDER."""
    from scopefl.federation.new_app import new_app

    new_app(folder)
    click.echo(f"{folder}: a Flower app; try: scope flower run {folder} --clients 10")


@flower.command()
@click.argument("app", type=FOLDER, default=".")
@click.option("--clients", type=click.IntRange(1), help="Simulate so many in this machine.")
@click.option("--server", type=FOLDER, help="The folder of `scope serve`: run at its sites.")
@click.option("-c", "--config", multiple=True, metavar="KEY=VALUE", help="A setting of the run.")
@click.option("--deadline", type=float, help="Stop the run after so many seconds.")
@click.option("--out", type=FOLDER, help="Where the server writes the policy and the result.")
def run(
    app: Path,
    clients: int | None,
    server: Path | None,
    config: tuple[str, ...],
    deadline: float | None,
    out: Path | None,
) -> None:
    """Run the Flower app in APP, and exit with 6 when the run failed."""
    from scopefl.federation import launch
    from scopefl.federation.coordinator import home_of

    if (clients is None) == (server is None):
        raise click.UsageError("Give one of --clients N, to simulate, and --server DIR.")
    settings = _settings(app, clients, server, config, out)
    if server is not None:
        launch.run(app.absolute(), home_of(server), settings, deadline=deadline)
        return
    with TemporaryDirectory(prefix="scope-flower-") as folder:
        home = launch.Home(Path(folder), f"{launch.LOCAL}:{launch.free_port()}")
        home.write()
        with launch.simulation(home, Path(folder, "superlink.log")):
            launch.run(app.absolute(), home, settings, clients=clients, deadline=deadline)


def _settings(
    app: Path,
    clients: int | None,
    server: Path | None,
    config: tuple[str, ...],
    out: Path | None,
) -> dict[str, str]:
    from scopefl.federation.coordinator import invited
    from scopefl.federation.launch import as_toml, run_settings

    declared = run_settings(app)
    ours = {"out": f"'{out.absolute()}'"} if out else {}
    if server is not None:
        ours |= {"expect": f"'{','.join(invited(server))}'", "dataset": "''"}
    else:
        ours |= {"expect": f"'{clients}'", "clients": str(clients)}
    settings = {key: value for key, value in ours.items() if key in declared}
    for pair in config:
        key, equals, value = pair.partition("=")
        if not equals:
            raise click.UsageError(f"--config must be KEY=VALUE, got {pair!r}.")
        settings[key] = as_toml(value)
    return settings
