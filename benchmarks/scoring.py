"""What scoring costs beside the encoder: `python -m benchmarks.scoring [speed] [decoding] [memory]
[install]`.

speed     MobileCLIP-S2 with random weights (they cost the same as trained ones), JPEGs of 500
          pixels on disk to a scores file, against its embedding alone; then the same again over
          unchanged images, and with other class names. The sides take turns.
decoding  the share of reading, decoding and resizing in the processor time of the offline encoder.
memory    the peak of a whole run over tiny images and a tiny tower, for two numbers of images.
install   the size of the base install in a fresh environment, and that no torch is in it.
"""

import argparse
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from PIL import Image

from scopefl.data.cifar10 import CLASSES
from scopefl.data.decoding import decode, raw_of
from scopefl.data.opening import open_source
from scopefl.data.rules import DecodingRules
from scopefl.data.scores_file import write_scores
from scopefl.vision.cache_folder import cache_folder
from scopefl.vision.embedding import SETTLED
from scopefl.vision.kit import Draft, Kit, make_kit
from scopefl.vision.manifest import Origin
from scopefl.vision.scoring import score_source
from tests.vision import small

RULES = DecodingRules()
ROOT = Path(__file__).parent.parent
GOAL_SHARE, GOAL_AGAIN, GOAL_BYTES, GOAL_INSTALL = 0.9, 50, 1.5e9, 500e6
CHILD = "from benchmarks.scoring import peak_of; import sys; peak_of(*sys.argv[1:])"


def seconds(run: Callable[[], object]) -> tuple[float, float]:
    """Give the wall and the processor time of one call."""
    wall, cpu = time.perf_counter(), time.process_time()
    run()
    return time.perf_counter() - wall, time.process_time() - cpu


def photographs(folder: Path, n: int, names: tuple[str, ...], short: int = 500) -> Path:
    """Write n JPEGs with the detail of photographs, in class folders."""
    rng = np.random.default_rng(0)
    for number in range(n):
        coarse = Image.fromarray(rng.integers(0, 256, (40, 53, 3), np.uint8))
        levels = np.asarray(coarse.resize((short * 4 // 3, short)), np.int16)
        noisy = levels + rng.integers(-12, 13, levels.shape, np.int16)
        path = folder / names[number % len(names)] / f"{number:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path, quality=90)
    time.sleep(SETTLED / 1e9)
    return folder


def mobileclip() -> Kit:
    """Give a kit of MobileCLIP-S2 with random weights and random prototypes."""
    from scopefl.vision import build
    from scopefl.vision.backbones import backbone

    entry = backbone("mobileclip-s2")
    clip = build.new_clip(entry).eval()
    rule = build.preprocessing(entry, clip)
    model = build.export(build.image_tower(clip, rule), rule.size)
    origin = Origin(entry.name, "random weights", "none", entry.licence, "0" * 64, "0" * 64)
    return make_kit(Draft(origin, CLASSES, rule, model, prototypes(512)))


def prototypes(dim: int, seed: int = 0) -> np.ndarray:
    """Give random unit rows."""
    rows = np.random.default_rng(seed).standard_normal((len(CLASSES), dim)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def score_folder(images: Path, kit: Kit, cache: Path, runtime: str = "onnxruntime") -> None:
    """Score a folder as `scope score` does."""
    file, _ = score_source(open_source(images), kit, RULES, cache=cache, runtime=runtime)
    write_scores(file, cache / "scores.parquet")


def speed(n: int, rounds: int, work: Path, runtime: str) -> None:
    """Print end to end against embedding alone, and what a second run costs."""
    kit, images = mobileclip(), photographs(work / "photographs", n, CLASSES)
    items, encoder = list(open_source(images)), kit.encoder(runtime)
    batch = np.stack([encoder.prepare(decode(raw_of(item), RULES).pixels) for item in items])
    renamed = renamed_kit(kit)
    sides: dict[str, list[tuple[float, float]]] = {"alone": [], "first": [], "same": [], "new": []}
    encoder.embed(batch[:2])
    for number in range(rounds):
        cache = work / f"cache-{number}"
        runs = {
            "alone": lambda: encoder.embed(batch),
            "first": lambda c=cache: score_folder(images, kit, c, runtime),
            "same": lambda c=cache: score_folder(images, kit, c, runtime),
            "new": lambda c=cache: score_folder(images, renamed, c, runtime),
        }
        for name, run in runs.items():
            sides[name].append(seconds(run))
    wall = {name: min(found)[0] for name, found in sides.items()}
    cpu = {name: min(each[1] for each in found) for name, found in sides.items()}
    print(f"MobileCLIP-S2 by {runtime}, {n} JPEGs of 500 pixels, least of {rounds} rounds")
    print(f"embedding alone {n / wall['alone']:.1f} images/s, end to end {n / wall['first']:.1f}")
    print(
        f"end to end / embedding alone: {wall['alone'] / wall['first']:.3f} by wall clock, "
        f"{cpu['alone'] / cpu['first']:.3f} by processor time  goal {GOAL_SHARE}"
    )
    print(f"again over unchanged images: {wall['first'] / wall['same']:.0f} x  goal {GOAL_AGAIN}")
    print(f"again with other class names: {wall['first'] / wall['new']:.0f} x  goal {GOAL_AGAIN}")


def renamed_kit(kit: Kit) -> Kit:
    """Give the kit with other prompts and other prototypes."""
    draft = Draft(
        replace(kit.manifest.origin, description="other"), kit.classes,
        kit.manifest.preprocessing, kit.model, prototypes(kit.manifest.dim, seed=1),
        ("a micrograph of {class_name}",),
    )  # fmt: skip
    return make_kit(draft)


def decoding(n: int, work: Path, runtime: str) -> None:
    """Print how much of the offline encoder's processor time goes into pixels."""
    kit, images = Kit.load("offline", CLASSES), photographs(work / "offline", n, CLASSES)
    items, encoder = list(open_source(images)), kit.encoder(runtime)
    batch = np.stack([encoder.prepare(decode(raw_of(item), RULES).pixels) for item in items])
    encoder.embed(batch[:2])
    pixels = seconds(lambda: [encoder.prepare(decode(raw_of(i), RULES).pixels) for i in items])[1]
    rows = seconds(lambda: encoder.embed(batch))[1]
    wall, cpu = seconds(lambda: score_folder(images, kit, work / "offline-cache", runtime))
    print(
        f"offline encoder by {runtime}, {n} JPEGs of 500 pixels: {n / wall:.0f} images/s end to end"
    )
    print(
        f"images per processor second: decoding {n / pixels:.0f}, encoder {n / rows:.0f}, both "
        f"{n / cpu:.0f}; decoding takes {100 * pixels / (pixels + rows):.0f} % of the work"
    )


def memory(sizes: list[int], work: Path) -> None:
    """Print the peak of a run over each number of tiny images."""
    peaks = []
    for n in sizes:
        folder = tiny_images(work / f"tiny-{n}", n)
        command = [sys.executable, "-c", CHILD, str(folder), str(work / f"cache-of-{n}")]
        done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)
        peaks.append(int(done.stdout))
        print(f"{n} images: peak {peaks[-1] / 1e6:.0f} MB", flush=True)
    grown = peaks[-1] - peaks[0]
    print(
        f"{grown / 1e6:.0f} MB more for {sizes[-1] - sizes[0]} more images, "
        f"{grown / (sizes[-1] - sizes[0]):.0f} bytes each  goal {GOAL_BYTES / 1e6:.0f} MB"
    )


def tiny_images(folder: Path, n: int) -> Path:
    """Write n pictures of 16 pixels, no two alike, in class folders."""
    for name in small.CLASSES:
        (folder / name).mkdir(parents=True)
    for number in range(n):
        pixels = np.full((16, 16, 3), 128, np.uint8)
        pixels[0, 0], pixels[0, 1, 0] = divmod(number, 256)[0] % 256, number % 256
        pixels[1, 1] = number // 65536
        path = folder / small.CLASSES[number % 3] / f"{number:07}.png"
        Image.fromarray(pixels).save(path, compress_level=1)
    return folder


def peak_of(images: str, cache: str) -> None:
    """Score a folder with a tiny tower and print the process's peak in bytes."""
    score_folder(Path(images), small.kit(), Path(cache))
    status = Path("/proc/self/status").read_text()
    print(int(status.split("VmHWM:")[1].split()[0]) * 1024)


def install(work: Path) -> None:
    """Print the size of the base install."""
    venv.create(work / "venv", with_pip=True)
    python = work / "venv" / "bin" / "python"
    empty = size_of(work / "venv")
    pip = [str(python), "-m", "pip", "install", "-qq", "-c", "constraints.txt", "."]
    subprocess.run(pip, check=True, cwd=ROOT)
    there = "import importlib.util as u; print(u.find_spec('torch') is not None)"
    torch = subprocess.run([python, "-c", there], capture_output=True, text=True, check=True)
    whole = size_of(work / "venv")
    print(
        f"base install {(whole - empty) / 1e6:.0f} MB beside {empty / 1e6:.0f} MB of Python's own "
        f"pip, torch {'in it' if 'True' in torch.stdout else 'not in it'}  "
        f"goal {GOAL_INSTALL / 1e6:.0f} MB, no torch"
    )


def size_of(folder: Path) -> int:
    """Add up the files of a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir())


def main() -> None:
    """Run the parts that were named, or all."""
    options = argparse.ArgumentParser(description="What scoring costs beside the encoder.")
    options.add_argument("parts", nargs="*", default=["speed", "decoding", "memory", "install"])
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("-n", type=int, default=256, help="photographs")
    options.add_argument("--runtime", default="onnxruntime", help="the base install's by default")
    options.add_argument("--sizes", type=int, nargs=2, default=[1_000, 100_000], help="of memory")
    chosen = options.parse_args()
    cache_folder().mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=cache_folder()) as folder:
        work = Path(folder)
        parts = {
            "speed": lambda: speed(chosen.n, chosen.rounds, work, chosen.runtime),
            "decoding": lambda: decoding(chosen.n, work, chosen.runtime),
            "memory": lambda: memory(chosen.sizes, work),
            "install": lambda: install(work),
        }
        for name in chosen.parts:
            parts[name]()


if __name__ == "__main__":
    main()
