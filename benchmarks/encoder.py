"""How fast and how good the encoders are: `python -m benchmarks.encoder [towers] [offline]`.

towers   MobileCLIP-S2 at 256 pixels with random weights (they cost the same as trained ones), one
         thread: runtimes of a kit against open_clip as its README shows it, batch 16. The sides
         take turns, and a rate is images per second of processor time, so that other work on the
         machine shifts both sides alike.
offline  the offline kit: images per second on all cores; on each of --sets (cifar10,
         fashion_mnist, uhcs_patches, elpv, ...) zero-shot top-1, and AUC of RS - S_neg as a
         detector of 20 % uniform label noise, by text and by visual prototypes.
"""

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scopefl.core.scores import score
from scopefl.data.datasets import Dataset, load_dataset
from scopefl.data.demo_images import solar_cells
from scopefl.experiment.collection import data_folder
from scopefl.experiment.settings import Data
from scopefl.vision import onnx_bytes, runtimes
from scopefl.vision.encoder import TowerEncoder
from scopefl.vision.fitness import auc
from scopefl.vision.kit import Kit
from scopefl.vision.prototypes import Centroids, leave_one_out

GFLOP_PER_IMAGE = 15.63
"""MobileCLIP-S2's image tower at 256 pixels, two operations a multiply-add."""
GOALS = {"onnxruntime": 2.5, "openvino": 2.5, "openvino-bf16": 4.5}
NOISE = 0.2
SIDE = 2_048

Run = Callable[[], Any]


def cpu_seconds(run: Run) -> float:
    """Give the processor time of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def interleaved(sides: dict[str, Run], rounds: int) -> dict[str, float]:
    """Give each side's least processor time, the sides taking turns; the first is dropped."""
    times: dict[str, list[float]] = {name: [] for name in sides}
    for _ in range(rounds + 1):
        for name, run in sides.items():
            times[name].append(cpu_seconds(run))
    return {name: min(found[1:]) for name, found in times.items()}


def peak(dtype: str) -> Run:
    """Give a matrix product that shows what one core can do at best.

    float32 by OpenVINO: numpy's may be held to older instructions by OPENBLAS_CORETYPE, torch's is
    by the maker of some processors.
    """
    if dtype == "f32":
        import openvino

        graph = onnx_bytes.model(
            "product",
            [onnx_bytes.node("MatMul", ["a", "a"], "b")],
            [],
            [onnx_bytes.port("a", "float32", [SIDE, SIDE])],
            [onnx_bytes.port("b", "float32", [SIDE, SIDE])],
        )
        settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": 1}
        core = openvino.Core()
        product = core.compile_model(core.read_model(graph), "CPU", settings)
        request = product.create_infer_request()
        a = np.random.default_rng(0).standard_normal((SIDE, SIDE), np.float32)
        return lambda: request.infer({"a": a}, share_inputs=True)
    import torch

    b = torch.randn(SIDE, SIDE).bfloat16()
    return lambda: b @ b


def towers(rounds: int) -> None:
    """Print the rates of every runtime against open_clip eager."""
    import torch
    from threadpoolctl import threadpool_limits

    from scopefl.vision import build
    from scopefl.vision.backbones import backbone

    torch.set_num_threads(1)
    entry = backbone("mobileclip-s2")
    clip = build.new_clip(entry).eval()
    rule = build.preprocessing(entry, clip)
    model = build.export(build.image_tower(clip, rule), rule.size)
    batch = np.random.default_rng(0).integers(0, 256, (16, rule.size, rule.size, 3), np.uint8)
    planes = torch.from_numpy(batch).permute(0, 3, 1, 2).float().div(255).contiguous()

    def eager() -> None:
        with torch.no_grad():
            features = clip.encode_image(planes)
            features /= features.norm(dim=-1, keepdim=True)

    names = [name for name in GOALS if name in runtimes.available()]
    encoders = {n: TowerEncoder(rule, runtimes.RUNTIMES[n](model, 1), 512) for n in names}
    sides: dict[str, Run] = {"open_clip eager": eager}
    sides |= {name: (lambda e=encoder: e.embed(batch)) for name, encoder in encoders.items()}
    sides |= {"product f32": peak("f32"), "product bf16": peak("bf16")}
    with threadpool_limits(1):
        times = interleaved(sides, rounds)
    print_towers(times, names)


def print_towers(times: dict[str, float], names: list[str]) -> None:
    """Print a line a side: rate, times open_clip eager, share of the matrix-product peak."""
    peaks = {kind: 2e-9 * SIDE**3 / times[f"product {kind}"] for kind in ("f32", "bf16")}
    print("MobileCLIP-S2 at 256 pixels, one thread, 16 images a turn")
    print(f"matrix products of {SIDE}: f32 {peaks['f32']:.0f}, bf16 {peaks['bf16']:.0f} GFLOP/s")
    for name in ("open_clip eager", *names):
        rate = 16 / times[name]
        ratio = times["open_clip eager"] / times[name]
        share = rate * GFLOP_PER_IMAGE / peaks[runtimes.precision(name)]
        goal = f"  goal {GOALS[name]}" if name in GOALS else ""
        print(
            f"{name:16} {rate:7.2f} images/cpu-s  {ratio:5.2f} x eager  {share:.2f} of peak{goal}"
        )


def noisy(labels: NDArray[np.int64], n_classes: int, seed: int) -> NDArray[np.int64]:
    """Give the labels with a fifth of them moved to another class, all others alike."""
    rng = np.random.default_rng(seed)
    moved = rng.permutation(len(labels))[: int(NOISE * len(labels))]
    wrong = labels.copy()
    wrong[moved] = (labels[moved] + rng.integers(1, n_classes, len(moved))) % n_classes
    return wrong


def quality(
    name: str, rows: NDArray[np.float32], labels: NDArray[np.int64], kit: Kit, seeds: int = 5
) -> None:
    """Print zero-shot top-1 and the AUC of RS - S_neg by text and by visual prototypes.

    Both are means over classes, of true ones and of given ones: a set of mostly one class must not
    look well read because everything is taken for it.
    """
    n_classes = len(kit.classes)
    right = (rows @ kit.prototypes.T).argmax(axis=1) == labels
    top1 = np.mean([right[labels == c].mean() for c in np.unique(labels)])
    found: dict[str, list[float]] = {"text": [], "visual": []}
    for seed in range(seeds):
        given = noisy(labels, n_classes, seed)
        clean = given == labels
        visual = Centroids.of(rows, given, n_classes)
        for kind, scores in (
            ("text", score(rows, kit.prototypes, given)),
            ("visual", leave_one_out(rows, given, visual)),
        ):
            margin = scores.rs - scores.s_neg
            of = [margin[given == c] for c in range(n_classes)]
            good = [clean[given == c] for c in range(n_classes)]
            aucs = [auc(m[g], m[~g]) for m, g in zip(of, good, strict=True) if 0 < g.sum() < len(g)]
            found[kind].append(float(np.mean(aucs)))
    print(
        f"{name}: {len(rows)} images, {n_classes} classes: top-1 {100 * top1:.1f} %, "
        f"AUC of RS - S_neg at 20 % noise, {seeds} seeds: text {np.mean(found['text']):.3f}, "
        f"visual {np.mean(found['visual']):.3f}"
    )


def speed(kit: Kit, batch: NDArray[np.uint8]) -> None:
    """Print the rate of the tower alone by each float32 runtime, the images resized already."""
    for runtime in ("onnxruntime", "openvino"):
        if runtime not in runtimes.available():
            continue
        encoder = kit.encoder(runtime)
        encoder.embed(batch[:16])
        wall, cpu = time.perf_counter(), time.process_time()
        encoder.embed(batch)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(
            f"{runtime}: {len(batch) / wall:.0f} images/s on {runtimes.usable_cores()} cores, "
            f"{len(batch) / cpu:.0f} images/cpu-s, 224 pixels"
        )


def some_of(named: str, n: int) -> Dataset:
    """Give n images of NAME or NAME=FOLDER: the first of its test set, else drawn by a seed."""
    name, _, folder = named.partition("=")
    if name == "elpv":
        cells = solar_cells("")
        images = np.stack([*cells.images, *cells.test_images])
        found = Dataset(images, np.append(cells.labels, cells.test_labels), cells.classes)
    else:
        found = load_dataset(name, data_folder(Data(name=name, folder=folder)))
    rows = np.random.default_rng(0).permutation(len(found)) if found.test is None else found.test
    rows = (rows if found.test is None else np.flatnonzero(rows))[:n]
    return Dataset(found.pixels(found.images.shape[1], rows), found.labels[rows], found.classes)


def offline(sets: list[str], n: int) -> None:
    """Print the offline kit's rate, and how well it reads each data set."""
    for number, name in enumerate(sets):
        data = some_of(name, n)
        start = time.perf_counter()
        kit = Kit.load("offline", data.classes)
        ready = time.perf_counter() - start
        encoder = kit.encoder()
        start_cpu = time.process_time()
        batch = np.stack([encoder.prepare(image) for image in data.images])
        resizing = time.process_time() - start_cpu
        if number == 0:
            print(f"{kit.name}: kit ready after {ready:.1f} s")
            speed(kit, batch)
            print(f"resizing alone: {len(batch) / resizing:.0f} images/cpu-s")
        quality(name.partition("=")[0], encoder.embed(batch), data.labels, kit)


def main() -> None:
    """Run the parts that were named, or both."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("parts", nargs="*", default=["towers", "offline"])
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--sets", nargs="+", default=["cifar10"], help="NAME or NAME=FOLDER")
    options.add_argument("-n", type=int, default=2_000, help="images of a set")
    chosen = options.parse_args()
    if "towers" in chosen.parts:
        towers(chosen.rounds)
    if "offline" in chosen.parts:
        offline(chosen.sets, chosen.n)


if __name__ == "__main__":
    main()
