"""What a release must show: what is in it (SBOM), known advisories, and a lock that still holds.

    make release-check

Writes dist/sbom.cdx.json. A check that needs an index which cannot be reached, or which keeps no
advisories, says "not run"; it never passes for it. Exit code 1 when a check found something.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
LOCK = ROOT / "requirements.lock"
SBOM = ROOT / "dist" / "sbom.cdx.json"
TOOLS = Path(sys.executable).parent
COMPILE = ["pip", "compile", "pyproject.toml", "--extra", "privacy", "--generate-hashes",
           "-c", "constraints.txt", "--python-version", "3.11", "--no-header", "--no-annotate",
           "--quiet"]  # fmt: skip


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a tool of this environment, and give what it said."""
    command = [str(TOOLS / arguments[0]), *arguments[1:]]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def sbom() -> bool:
    """Write the bill of materials of this environment."""
    SBOM.parent.mkdir(exist_ok=True)
    done = run("cyclonedx-py", "environment", sys.executable, "--output-file", str(SBOM),
               "--output-reproducible")  # fmt: skip
    if done.returncode:
        print(f"SBOM: FAILED: {done.stderr.strip()}")
        return False
    parts = json.loads(SBOM.read_text())["components"]
    print(f"SBOM: {SBOM.relative_to(ROOT)} lists {len(parts)} packages")
    return True


def advisories() -> bool:
    """Ask the index for advisories about every pinned package."""
    done = run("pip-audit", "-r", str(LOCK), "--disable-pip", "--format", "json",
               "--progress-spinner", "off")  # fmt: skip
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"advisories: not run: {last}")
        return True
    asked = [one for one in packages if "skip_reason" not in one]
    found = [(one["name"], v["id"]) for one in asked for v in one["vulns"]]
    if not asked:
        print(f"advisories: not run: the index keeps none of the {len(packages)} packages")
        return True
    print(f"advisories: {len(asked)} of {len(packages)} packages asked, {len(found)} found {found}")
    return not found


def lock() -> bool:
    """Compile the lock anew and compare the versions and hashes."""
    done = run("uv", *COMPILE)
    if done.returncode:
        last = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"lock: not run: {last}")
        return True
    pinned = {line.split("==")[0]: line for line in LOCK.read_text().splitlines() if "==" in line}
    now = {line.split("==")[0]: line for line in done.stdout.splitlines() if "==" in line}
    moved = sorted(name for name in pinned.keys() | now.keys() if pinned.get(name) != now.get(name))
    print(f"lock: {len(pinned)} packages pinned with hashes, {len(moved)} moved {moved}")
    return not moved


if __name__ == "__main__":
    sys.exit(0 if all([sbom(), advisories(), lock()]) else 1)
