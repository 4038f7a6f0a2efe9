"""The lock on Flower's server in a real process, called from an address that is not loopback."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("flwr")
pytestmark = pytest.mark.slow

ELSEWHERE = "10.99.0.1"
NETWORK = f'ip link set lo up && ip addr add {ELSEWHERE}/32 dev lo && exec "$0" "$@"'
CALLS = f"""
import datetime, ssl, sys, urllib.error, urllib.request
from pathlib import Path
from scopefl.federation.coordinator import invite, serving

folder, port = Path(sys.argv[1]), 18999
now = datetime.datetime.now(datetime.UTC)
invite(folder, f"{ELSEWHERE}:{{port}}", ["north"], b"kit-one!", ("grain", "pore"), now)
trust = ssl.create_default_context(cafile=str(folder / "ca.crt"))

def status(host, path):
    request = urllib.request.Request(f"https://{{host}}:{{port}}{{path}}", data=b"")
    try:
        return urllib.request.urlopen(request, context=trust, timeout=10).status
    except urllib.error.HTTPError as error:
        return error.code

with serving(folder, "0.0.0.0"):
    for host in ("{ELSEWHERE}", "127.0.0.1"):
        for path in ("/v1/control/list-runs", "/v1/runtime/get-nodes", "/v1/fleet/activate-node"):
            print(host, path, status(host, path))
"""


def test_from_afar_only_a_sites_calls_are_answered(tmp_path):
    alone = ["unshare", "-rn", "sh", "-c", NETWORK]
    if shutil.which("unshare") is None or subprocess.run([*alone, "true"]).returncode:
        pytest.skip("this system allows no network namespace")
    script = Path(tmp_path, "calls.py")
    script.write_text(CALLS)
    done = subprocess.run(
        [*alone, sys.executable, str(script), str(tmp_path / "coordinator")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    answers = {tuple(line.split()[:2]): line.split()[2] for line in done.stdout.splitlines()}
    assert answers[ELSEWHERE, "/v1/control/list-runs"] == "403"
    assert answers[ELSEWHERE, "/v1/runtime/get-nodes"] == "403"
    assert answers[ELSEWHERE, "/v1/fleet/activate-node"] != "403"
    assert answers["127.0.0.1", "/v1/control/list-runs"] != "403"
    assert answers["127.0.0.1", "/v1/runtime/get-nodes"] != "403"
