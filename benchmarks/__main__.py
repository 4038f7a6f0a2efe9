"""`python -m benchmarks [NAME ...]`: run benchmarks one after another, each in its own process."""

import subprocess
import sys
from pathlib import Path

SHORT = ("core", "wire")
"""What `make bench` runs: the figures of the core, in minutes on an idle machine."""
NO_BENCHMARK = {"__init__", "__main__", "measure"}


def main() -> None:
    known = sorted(path.stem for path in Path(__file__).parent.glob("*.py"))
    known = [name for name in known if name not in NO_BENCHMARK]
    names = sys.argv[1:] or list(SHORT)
    strange = [name for name in names if name not in known]
    if strange:
        sys.exit(f"there is no benchmark {strange[0]!r}; there are {', '.join(known)}")
    for name in names:
        print(f"== {name}", flush=True)
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)
    print("others:", ", ".join(name for name in known if name not in names))


if __name__ == "__main__":
    main()
