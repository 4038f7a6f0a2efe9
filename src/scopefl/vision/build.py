"""From a CLIP's weights to a kit: two towers in torch once, then ONNX and prototypes for good."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from scopefl.core.fingerprint import digest
from scopefl.errors import ScopeError
from scopefl.torchvision_import import import_over_torchvision
from scopefl.vision import canaries, runtimes
from scopefl.vision.backbones import Backbone
from scopefl.vision.encoder import TowerEncoder
from scopefl.vision.kit import MAX_MODEL_BYTES, Draft, Kit, make_kit
from scopefl.vision.manifest import Origin
from scopefl.vision.preprocess import Preprocessing
from scopefl.vision.prompts import (
    TEMPLATES,
    check_classes,
    check_templates,
    sentences,
    text_prototypes,
)
from scopefl.vision.weights import Weights

AGREEMENT = 1e-4
"""How far the exported tower may lie from torch in any number of a unit embedding."""
OPSET = 18
LARGEST_TOWER = int(0.95 * MAX_MODEL_BYTES)
NARROWED = (
    "The image tower has more float32 weights than one ONNX file can hold, so they are kept as "
    "float16 and widened when it runs; the arithmetic is float32."
)
_MATRIX = 1 << 12
"""Weights of at least so many numbers are kept narrow."""


def build_kit(
    backbone: Backbone,
    weights: Weights,
    classes: Sequence[str],
    prompts: Sequence[str] = TEMPLATES,
) -> Kit:
    """Make the kit of a backbone for these classes."""
    classes, prompts = check_classes(classes), check_templates(prompts)
    clip = load_clip(backbone, weights.path)
    tokenizer = load_tokenizer(backbone)
    rule = preprocessing(backbone, clip)
    tower = image_tower(clip, rule)
    narrowed = float32_bytes(tower) > LARGEST_TOWER
    if narrowed:
        narrow(tower)
    model = export(tower, rule.size)
    check_agreement(tower, model, rule)
    tokens = tokenizer([text for name in classes for text in sentences(name, prompts)])
    return make_kit(
        Draft(
            origin=Origin(
                backbone=backbone.name,
                source=weights.source,
                revision=weights.revision,
                licence=backbone.licence,
                weights_sha256=weights.sha256,
                tokenizer_sha256=digest(tokens.tolist()),
                description=NARROWED if narrowed else "",
            ),
            classes=classes,
            preprocessing=rule,
            model=model,
            prototypes=text_prototypes(text_tower(clip, tokenizer), classes, prompts),
            prompts=prompts,
        )
    )


def new_clip(backbone: Backbone, device: str = "cpu") -> Any:
    """Give the architecture with random weights, both towers."""
    open_clip = import_over_torchvision("open_clip")
    try:
        if backbone.architecture:
            return open_clip.CustomTextCLIP(**backbone.architecture)
        return open_clip.create_model(
            backbone.model, load_weights=False, pretrained_text=False, device=device
        )
    except (RuntimeError, OSError) as missing:
        raise ScopeError(
            f"{backbone.name} needs {backbone.needs or 'a newer open_clip'}: {missing}"
        ) from missing


def load_clip(backbone: Backbone, path: Path) -> Any:
    """Give the model with the weights of a safetensors file, every tensor in its place."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    clip = new_clip(backbone)
    try:
        state = load_file(path)
    except SafetensorError as broken:
        raise ScopeError(f"{path} does not read as safetensors: {broken}") from broken
    try:
        clip.load_state_dict(state, strict=True)
    except RuntimeError as wrong:
        told = str(wrong).splitlines()
        raise ScopeError(
            f"{path} must hold the weights of {backbone.model}: {' '.join(told[1:2]).strip()[:200]}"
        ) from wrong
    return clip.eval().float()


def load_tokenizer(backbone: Backbone) -> Any:
    """Give what turns sentences into token numbers."""
    open_clip = import_over_torchvision("open_clip")
    if not backbone.architecture:
        return open_clip.get_tokenizer(backbone.model)
    text = backbone.architecture["text_cfg"]
    if "hf_tokenizer_name" not in text:
        return open_clip.SimpleTokenizer(context_length=text["context_length"])
    try:
        return open_clip.HFTokenizer(
            text["hf_tokenizer_name"], context_length=text["context_length"]
        )
    except (ImportError, OSError, RuntimeError) as missing:
        raise ScopeError(f"{backbone.name} needs {backbone.needs}: {missing}") from missing


def preprocessing(backbone: Backbone, clip: Any) -> Preprocessing:
    """Give the rule that open_clip lists for these weights; CLIP's own where it lists none."""
    open_clip = import_over_torchvision("open_clip")
    listed = open_clip.get_pretrained_cfg(backbone.model, backbone.pretrained) or {}
    size = clip.visual.image_size
    return Preprocessing(
        size=size[0] if isinstance(size, (tuple, list)) else size,
        resize=listed.get("resize_mode") or "shortest",
        interpolation=listed.get("interpolation") or "bicubic",
        mean=tuple(listed.get("mean") or open_clip.OPENAI_DATASET_MEAN),
        std=tuple(listed.get("std") or open_clip.OPENAI_DATASET_STD),
    )


def image_tower(clip: Any, rule: Preprocessing) -> Any:
    """Give a module from uint8 pixels (n, S, S, 3) to embeddings, its branches fused."""
    import torch
    from timm.models import reparameterize_model

    class ImageTower(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.visual = reparameterize_model(clip.visual)
            self.mean = torch.nn.Buffer(torch.tensor(rule.mean).mul(255).view(1, 3, 1, 1))
            self.std = torch.nn.Buffer(torch.tensor(rule.std).mul(255).view(1, 3, 1, 1))

        def forward(self, pixels: torch.Tensor) -> torch.Tensor:
            planes = pixels.permute(0, 3, 1, 2).float()
            return cast(torch.Tensor, self.visual((planes - self.mean) / self.std))

    return ImageTower().eval()


def float32_bytes(tower: Any) -> int:
    """Give the size of a module's weights as float32."""
    return sum(4 * int(values.numel()) for values in tower.parameters())


def narrow(tower: Any) -> None:
    """Keep the large weights of a module as float16, to be widened at each use."""
    import torch
    from torch.nn.utils import parametrize

    class Widened(torch.nn.Module):
        def forward(self, weight: torch.Tensor) -> torch.Tensor:
            return weight.float()

    for module in list(tower.modules()):
        for name, weight in list(module.named_parameters(recurse=False)):
            if weight.numel() >= _MATRIX:
                weight.data = weight.data.half()
                parametrize.register_parametrization(module, name, Widened(), unsafe=True)


def text_tower(clip: Any, tokenizer: Any) -> Any:
    """Give a function from sentences to raw text embeddings."""
    import torch

    def embed(texts: list[str]) -> NDArray[np.float32]:
        with torch.inference_mode():
            return np.asarray(clip.encode_text(tokenizer(texts)).numpy(), np.float32)

    return embed


def export(tower: Any, size: int) -> bytes:
    """Give the tower as one ONNX file that takes any number of images."""
    import torch

    size_now = sum(values.numel() * values.element_size() for values in tower.parameters())
    if size_now > LARGEST_TOWER:
        raise ScopeError(
            f"the image tower must be below {LARGEST_TOWER / 1e6:.0f} MB to be one ONNX file, "
            f"it has {size_now / 1e6:.0f} MB; choose a smaller backbone"
        )
    example = torch.zeros(2, size, size, 3, dtype=torch.uint8)
    with warnings.catch_warnings(), torch.inference_mode():
        # The exporter warns of its own future; the result is checked against torch right after.
        warnings.simplefilter("ignore")
        program = torch.onnx.export(
            tower,
            (example,),
            dynamo=True,
            dynamic_shapes={"pixels": {0: torch.export.Dim("n", min=1)}},
            input_names=[runtimes.INPUT],
            output_names=[runtimes.OUTPUT],
            opset_version=OPSET,
            verbose=False,
        )
    if program is None:
        raise ScopeError("torch could not export the image tower")
    return cast(bytes, program.model_proto.SerializeToString())


def check_agreement(tower: Any, model: bytes, rule: Preprocessing) -> None:
    """Compare the exported tower with torch on the canaries."""
    import torch

    def run(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
        with torch.inference_mode():
            return np.asarray(tower(torch.from_numpy(pixels.copy())).numpy(), np.float32)

    exported = runtimes.started_when_needed("onnxruntime", model, runtimes.usable_cores())
    dim = run(np.zeros((1, rule.size, rule.size, 3), np.uint8)).shape[1]
    rows = [canaries.embeddings(TowerEncoder(rule, each, dim)) for each in (run, exported)]
    worst = float(np.abs(rows[0] - rows[1]).max())
    if worst > AGREEMENT:
        raise ScopeError(
            f"the exported tower must agree with torch to {AGREEMENT:.0e}, it is {worst:.1e} off; "
            "please report this with your versions of torch and onnxscript"
        )
