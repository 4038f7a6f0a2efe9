"""Flower's own commands, started and stopped by ours: no telemetry, no downloads, a true ending."""

import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn
from urllib.request import urlopen

from scopefl.errors import RunError, ScopeError

CONNECTION = "scope"
LOCAL = "127.0.0.1"
OFFLINE = {
    "FLWR_TELEMETRY_ENABLED": "0",
    "FLWR_DISABLE_UPDATE_CHECK": "1",
    "FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION": "1",
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
}
COMPLETED = "finished:completed"


@dataclass(frozen=True)
class Home:
    """A folder that Flower keeps its connections and installed apps in, and how it is reached."""

    path: Path
    address: str
    ca: Path | None = None

    def write(self) -> None:
        """Tell `flwr` where the server is."""
        self.path.mkdir(parents=True, exist_ok=True)
        trust = "insecure = true" if self.ca is None else f"root-certificates = '{self.ca}'"
        self.path.joinpath("config.toml").write_text(
            f'[superlink]\ndefault = "{CONNECTION}"\n\n'
            f'[superlink.{CONNECTION}]\naddress = "{self.address}"\n{trust}\n'
        )

    @property
    def environment(self) -> dict[str, str]:
        """Give the environment of every Flower command of this home."""
        here = str(Path(sys.executable).parent)
        path = os.pathsep.join([here, os.environ.get("PATH", "")])
        return {**os.environ, **OFFLINE, "PATH": path, "FLWR_HOME": str(self.path)}


def command(name: str) -> str:
    """Give the path of one of Flower's commands, which are installed beside Python."""
    path = Path(sys.executable).with_name(name)
    if not path.exists():
        raise ScopeError("Flower must be installed for this; pip install 'scopefl[flower]'")
    return str(path)


def free_port() -> int:
    """Give a port of this machine that nobody listens on."""
    with socket.socket() as found:
        found.bind((LOCAL, 0))
        return int(found.getsockname()[1])


@contextmanager
def started(arguments: Sequence[str], home: Home, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Run a Flower command in a process group of its own, and end the group at the end."""
    with _sigterm_raises():
        with log.open("ab") as out:
            process = subprocess.Popen(  # noqa: S603
                arguments, env=home.environment, stdout=out, stderr=out, start_new_session=True
            )
        try:
            yield process
        finally:
            _end(process)


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Let SIGTERM unwind as Ctrl-C does: on its own it would leave what we started running."""
    before = signal.signal(signal.SIGTERM, _exit)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _exit(number: int, frame: FrameType | None) -> NoReturn:  # noqa: ARG001
    sys.exit(128 + number)


def _end(process: subprocess.Popen[bytes]) -> None:
    for sign, patience in ((signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0)):
        if process.poll() is None:
            os.killpg(process.pid, sign)
            try:
                process.wait(patience)
            except subprocess.TimeoutExpired:
                continue


@contextmanager
def simulation(home: Home, log: Path) -> Iterator[None]:
    """Lend a SuperLink that simulates its clients in this machine, and only as long as needed."""
    host, port = home.address.split(":")
    arguments = [command("flower-superlink"), "--insecure", "--simulation"]
    arguments += ["--host", host, "--port", port]
    with started(arguments, home, log) as process:
        wait_until_up(home, process, log)
        yield


def wait_until_up(
    home: Home, process: subprocess.Popen[bytes], log: Path, patience: float = 180.0
) -> None:
    """Return once the server answers; say where its log is when it does not."""
    deadline = time.monotonic() + patience
    while process.poll() is None and time.monotonic() < deadline:
        if is_up(home):
            return
        time.sleep(0.2)
    code = process.poll()
    how = f"did not start within {patience:g} s" if code is None else f"ended with code {code}"
    raise RunError(f"the Flower server {how}; its log is {log}")


def is_up(home: Home) -> bool:
    """Tell whether a server answers there."""
    try:
        knock(home)
    except OSError:
        return False
    return True


def knock(home: Home) -> None:
    """Raise OSError unless the server that the home trusts answers there."""
    trust = None if home.ca is None else ssl.create_default_context(cafile=str(home.ca))
    url = f"{'http' if trust is None else 'https'}://{home.address}/health"
    with urlopen(url, timeout=10, context=trust):  # noqa: S310
        pass


def run(
    app: Path,
    home: Home,
    settings: Mapping[str, str],
    *,
    clients: int | None = None,
    deadline: float | None = None,
) -> dict[str, Any]:
    """Run an app, show its log, and give how it ended; raise its cause where it failed."""
    arguments = ["run", str(app), CONNECTION, "--format", "json"]
    if settings:
        arguments += ["--run-config", " ".join(f"{k}={v}" for k, v in settings.items())]
    if clients is not None:
        size = f"num-supernodes={clients} client-resources-num-cpus=1"
        arguments += ["--federation-config", size]
    with _sigterm_raises():
        run_id = str(asked(home, arguments)["run-id"])
        try:
            end = _watched(home, run_id, deadline)
        except subprocess.TimeoutExpired:
            _stop(home, run_id)
            raise RunError(f"the run was stopped, it took more than {deadline:g} s") from None
        except (KeyboardInterrupt, SystemExit):
            _stop(home, run_id)
            raise
    if end["status"] != COMPLETED:
        raise RunError(f"the run ended as {end['status']}: {end['status-details']}")
    return end


def _watched(home: Home, run_id: str, deadline: float | None) -> dict[str, Any]:
    """Show a run's log while it lasts; give how it ended, or raise TimeoutExpired."""
    until = None if deadline is None else time.monotonic() + deadline
    log = [command("flwr"), "log", run_id, CONNECTION, "--stream"]
    subprocess.run(log, env=home.environment, check=False, timeout=deadline)  # noqa: S603
    while until is None or time.monotonic() < until:
        end = _state_of(home, run_id)
        if end["status"].startswith("finished"):
            return end
        time.sleep(1.0)
    raise subprocess.TimeoutExpired(log, deadline or 0.0)


def _state_of(home: Home, run_id: str) -> dict[str, Any]:
    try:
        found = asked(home, ["ls", CONNECTION, "--run-id", run_id, "--format", "json"])
    except RunError:
        if is_up(home):
            raise
        raise RunError(
            f"the Flower server at {home.address} stopped answering during the run; start it "
            "and run again; the sites will keep the same images"
        ) from None
    state: dict[str, Any] = found["runs"][0]
    return state


def _stop(home: Home, run_id: str) -> None:
    asked(home, ["stop", run_id, CONNECTION, "--format", "json"])


def asked(home: Home, arguments: Sequence[str]) -> dict[str, Any]:
    """Give the JSON answer of a `flwr` command, or raise what it complains of."""
    done = subprocess.run(  # noqa: S603
        [command("flwr"), *arguments], env=home.environment, check=False, capture_output=True
    )
    text = done.stdout.decode(errors="replace")
    try:
        answer: dict[str, Any] = json.loads(text[text.index("{") :])
    except ValueError:
        answer = {"error-message": text or done.stderr.decode(errors="replace")}
    if not answer.get("success"):
        cause = " ".join(str(answer.get("error-message", "no reason given")).split())
        raise RunError(f"flwr {arguments[0]} failed: {cause[:500]}")
    return answer


def run_settings(app: Path) -> dict[str, Any]:
    """Give the run settings an app declares, with their defaults."""
    path = app / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text("utf-8"))
        return dict(project["tool"]["flwr"]["app"].get("config", {}))
    except (OSError, tomllib.TOMLDecodeError, KeyError) as error:
        raise ScopeError(
            f"{path} must be that of a Flower app; make one with: scope flower new {app}"
        ) from error


def as_toml(value: str) -> str:
    """Spell a setting's value in TOML: numbers and booleans as they are, anything else as text.

    >>> as_toml("0.5"), as_toml("true"), as_toml("north,south")
    ('0.5', 'true', "'north,south'")
    """
    try:
        tomllib.loads(f"x = {value}")
    except tomllib.TOMLDecodeError:
        return f"'{value}'"
    return value
