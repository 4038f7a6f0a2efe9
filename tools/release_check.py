"""What a release must show: what is in it (SBOM), known advisories, and locks that still hold.

    make release-check                            # check
    python tools/release_check.py --write-locks   # after a change of pyproject.toml

Writes dist/sbom.cdx.json. A check that needs an index which cannot be reached, or which keeps no
advisories, says "not run"; it never passes for it. Exit code 1 when a check found something.
"""

import json
import re
import subprocess
import sys
from importlib.metadata import distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent
SBOM = ROOT / "dist" / "sbom.cdx.json"
TOOLS = Path(sys.executable).parent
SITE, ALL = ROOT / "requirements.lock", ROOT / "requirements-all.lock"
LOCKS = {
    SITE: ["--extra", "privacy"],
    ALL: ["--extra", "all", *(f"--group={name}" for name in ("dev", "docs", "release"))],
}
"""What a site installs, and all that development, tests, pages and releases do."""
COMPILE = ["pip", "compile", "pyproject.toml", "--generate-hashes", "-c", "constraints.txt",
           "--python-version", "3.11.5", "--no-header", "--no-annotate", "--quiet"]  # fmt: skip


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
    done = run("pip-audit", "-r", str(ALL), "--disable-pip", "--format", "json",
               "--progress-spinner", "off")  # fmt: skip
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"advisories: not run: {last_line(done.stderr)}")
        return True
    asked = [one for one in packages if "skip_reason" not in one]
    found = [(one["name"], v["id"]) for one in asked for v in one["vulns"]]
    if not asked:
        print(f"advisories: not run: the index keeps none of the {len(packages)} packages")
        return True
    print(f"advisories: {len(asked)} of {len(packages)} packages asked, {len(found)} found {found}")
    return not found


def locks() -> bool:
    """Compile the locks anew and compare versions and hashes."""
    held = [lock(path) for path in LOCKS]
    return all(held)


def lock(path: Path) -> bool:
    """Compile one lock and compare it."""
    done = run("uv", *COMPILE, *LOCKS[path])
    if done.returncode:
        print(f"{path.name}: not run: {last_line(done.stderr)}")
        return True
    pinned, now = pins(path.read_text()), pins(done.stdout)
    moved = sorted(name for name in pinned.keys() | now.keys() if pinned.get(name) != now.get(name))
    print(f"{path.name}: {len(pinned)} packages pinned with hashes, {len(moved)} moved {moved}")
    return not moved


def fetched() -> bool:
    """Let pip fetch what a site installs, and refuse what has another hash."""
    done = run("pip", "install", "--dry-run", "--ignore-installed", "--no-deps", "--require-hashes",
               "--quiet", "-r", str(SITE))  # fmt: skip
    if "THESE PACKAGES DO NOT MATCH THE HASHES" in done.stderr:
        print(f"hashes: FAILED: {done.stderr.strip()}")
        return False
    kind = "fetched as locked" if not done.returncode else f"not run: {last_line(done.stderr)}"
    print(f"hashes: {len(pins(SITE.read_text()))} packages of {SITE.name} {kind}")
    return True


def installed() -> bool:
    """Compare what is installed here with the lock; a local build such as +cpu is told."""
    locked = {name: version for name, (version, _) in pins(ALL.read_text()).items()}
    here = {plain(one.metadata["Name"]): one.version for one in distributions()}
    others = here.keys() - {"scopefl", "pip", "setuptools"}  # those came with the environment
    other = {n: here[n] for n in others if locked.get(n) != here[n].partition("+")[0]}
    local = sorted(f"{n} {v}" for n, v in here.items() if "+" in v)
    print(f"installed: {len(others)} packages, not as locked {other}, local builds {local}")
    return not other


def pins(text: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Give version and hashes of each package of a lock."""
    found = {}
    for one in text.replace("\\\n", " ").splitlines():
        if match := re.match(r"([\w.-]+)==([^\s;]+)", one):
            hashes = frozenset(re.findall(r"sha256:[0-9a-f]{64}", one))
            found[plain(match[1])] = match[2], hashes
    return found


def plain(name: str) -> str:
    """Give a package's name in the one spelling by which names are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def last_line(text: str) -> str:
    """Give the last line that says something."""
    return (text.strip().splitlines() or ["no answer"])[-1]


def write_locks() -> None:
    """Compile the locks and keep them."""
    for path, what in LOCKS.items():
        done = run("uv", *COMPILE, *what)
        if done.returncode:
            sys.exit(done.stderr)
        path.write_text(done.stdout)
        print(f"{path.name}: {len(pins(done.stdout))} packages")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write-locks"]:
        write_locks()
    else:
        passed = [check() for check in (sbom, advisories, locks, fetched, installed)]
        sys.exit(0 if all(passed) else 1)
