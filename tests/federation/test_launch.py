"""Our hold on Flower's commands: settings, the environment, ready apps, and ends with a cause."""

import os
import sys
import time
from pathlib import Path

import psutil
import pytest
from click.testing import CliRunner

pytest.importorskip("flwr")

from scopefl.cli.main import scope
from scopefl.errors import RunError, ScopeError
from scopefl.federation import launch
from scopefl.federation.new_app import new_app


def run(*arguments):
    return CliRunner().invoke(scope, [str(one) for one in arguments])


def test_a_new_app_holds_every_setting_of_the_paper(tmp_path):
    done = run("flower", "new", tmp_path / "app")
    assert done.exit_code == 0
    assert "scope flower run" in done.output
    settings = launch.run_settings(tmp_path / "app")
    paper = {"p-l", "p-f", "beta", "gamma", "rounds", "clients", "alpha", "imbalance-ratio", "seed"}
    assert paper | {"keep", "expect", "quorum", "label-noise"} <= set(settings)
    assert not list(tmp_path.rglob("__pycache__"))
    with pytest.raises(ScopeError, match="must be new or an empty folder"):
        new_app(tmp_path / "app")


def test_a_run_says_which_argument_is_wrong(tmp_path):
    new_app(tmp_path / "app")
    done = run("flower", "run", tmp_path / "app")
    assert done.exit_code == 2
    assert "Give one of --clients N" in done.output
    done = run("flower", "run", tmp_path / "app", "--clients", 2, "-c", "rounds")
    assert "--config must be KEY=VALUE, got 'rounds'" in done.output
    done = run("flower", "run", tmp_path, "--clients", 2)
    assert done.exit_code == 2
    assert "must be that of a Flower app; make one with: scope flower new" in done.output
    done = run("flower", "run", tmp_path / "app", "--server", tmp_path / "nowhere")
    assert "could not be read" in done.output


def test_flower_is_told_to_stay_offline_and_where_the_server_is(tmp_path):
    home = launch.Home(tmp_path / "home", "127.0.0.1:1", tmp_path / "ca.crt")
    home.write()
    assert f"root-certificates = '{tmp_path}/ca.crt'" in (home.path / "config.toml").read_text()
    environment = home.environment
    assert environment["FLWR_TELEMETRY_ENABLED"] == "0"
    assert environment["FLWR_DISABLE_UPDATE_CHECK"] == "1"
    assert environment["FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION"] == "1"
    assert environment["FLWR_HOME"] == str(home.path)
    assert environment["PATH"].split(os.pathsep)[0] == str(Path(sys.executable).parent)
    launch.Home(tmp_path / "plain", "127.0.0.1:1").write()
    assert "insecure = true" in (tmp_path / "plain" / "config.toml").read_text()


def test_a_server_that_does_not_start_is_said_to(tmp_path):
    home = launch.Home(tmp_path, "127.0.0.1:1")
    arguments = [sys.executable, "-c", "raise SystemExit(3)"]
    sentence = "the Flower server ended with code 3; its log is"
    with (
        launch.started(arguments, home, tmp_path / "log") as process,
        pytest.raises(RunError, match=sentence),
    ):
        launch.wait_until_up(home, process, tmp_path / "log")
    arguments = [sys.executable, "-c", "import time; time.sleep(100)"]
    with (
        launch.started(arguments, home, tmp_path / "log") as process,
        pytest.raises(RunError, match=r"did not start within 0.3 s; its log is"),
    ):
        launch.wait_until_up(home, process, tmp_path / "log", patience=0.3)


def test_what_was_started_is_ended_with_all_it_started(tmp_path):
    code = "import subprocess; subprocess.run(['sleep', '100'])"
    home = launch.Home(tmp_path, "127.0.0.1:1")
    with launch.started([sys.executable, "-c", code], home, tmp_path / "log") as process:
        deadline = time.monotonic() + 10
        while len(tree := psutil.Process(process.pid).children(recursive=True)) < 1:
            assert time.monotonic() < deadline
            time.sleep(0.05)
    psutil.wait_procs(tree, timeout=5)
    assert not any(one.is_running() for one in tree)


def test_a_missing_command_says_what_to_install():
    with pytest.raises(ScopeError, match=r"pip install 'scopefl\[flower\]'"):
        launch.command("flower-that-is-not-there")


def test_flowers_complaint_is_passed_on(tmp_path):
    home = launch.Home(tmp_path, f"127.0.0.1:{launch.free_port()}")
    home.write()
    with pytest.raises(RunError, match=r"flwr ls failed: .*"):
        launch.asked(home, ["ls", launch.CONNECTION, "--format", "json"])
