"""The networks of the paper by name, through timm, and a small one for two cores."""

from pathlib import Path
from typing import Any

import torch
from torch import nn

from scopefl.errors import ScopeError
from scopefl.torchvision_import import import_over_torchvision

WIDTHS = (32, 64, 64)
OWN = "cnn"

ARCHITECTURES = {
    "resnet18": "resnet18",
    "resnet50": "resnet50",
    "vit_b_16": "vit_base_patch16_224",
    "vit_tiny": "vit_tiny_patch16_224",
    "deit_tiny": "deit_tiny_patch16_224",
    "swin_t": "swin_tiny_patch4_window7_224",
    "efficientnet_v2_s": "tf_efficientnetv2_s",
    "efficientnet_v2_m": "tf_efficientnetv2_m",
}
NAMES = (OWN, *ARCHITECTURES)
_SIZED = ("vit_b_16", "vit_tiny", "deit_tiny", "swin_t")
SMALL_IMAGE = 64


class SmallCnn(nn.Module):
    """Three convolutions with group norm, so that tiny and one-sided batches train well too."""

    def __init__(self, n_classes: int, channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for before, after in zip((channels, *WIDTHS), WIDTHS, strict=False):
            convolution = nn.Conv2d(before, after, 3, padding=1, bias=False)
            layers += [convolution, nn.GroupNorm(8, after), nn.ReLU(), nn.MaxPool2d(2)]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(WIDTHS[-1], n_classes)

    def forward_features(self, x: torch.Tensor) -> torch.Tensor:
        """Give the last feature map."""
        out: torch.Tensor = self.body(x)
        return out

    def forward_head(self, x: torch.Tensor, pre_logits: bool = False) -> torch.Tensor:
        """Give the mean over the map, and the logits of it."""
        pooled = x.mean(dim=(2, 3))
        return pooled if pre_logits else self.head(pooled)

    def get_classifier(self) -> nn.Module:
        """Give the last layer."""
        return self.head

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Give the logits."""
        return self.forward_head(self.forward_features(x))


def build(
    name: str, n_classes: int, image_size: int, channels: int = 3, pretrained: Path | None = None
) -> nn.Module:
    """Give a network for square images, initialised at random or from local safetensors weights."""
    if name not in NAMES:
        raise ScopeError(f"the model must be one of {', '.join(NAMES)}, got {name!r}")
    if name == OWN:
        if pretrained:
            raise ScopeError(f"there are no pretrained weights for {OWN}, got {pretrained}")
        return SmallCnn(n_classes, channels)
    model = _from_timm(name, n_classes, image_size, channels, pretrained)
    if name == "resnet18" and image_size <= SMALL_IMAGE:
        _cifar_stem(model, channels)
    return model


def _from_timm(
    name: str, n_classes: int, image_size: int, channels: int, pretrained: Path | None
) -> nn.Module:
    settings: dict[str, Any] = {"num_classes": n_classes, "in_chans": channels}
    if name in _SIZED:
        settings["img_size"] = image_size
    if pretrained:
        if pretrained.suffix != ".safetensors" or not pretrained.is_file():
            raise ScopeError(
                f"pretrained weights must be a .safetensors file of timm's "
                f"{ARCHITECTURES[name]}, got {pretrained}"
            )
        settings |= {"pretrained": True, "pretrained_cfg_overlay": {"file": str(pretrained)}}
    timm = import_over_torchvision("timm")
    model: nn.Module = timm.create_model(ARCHITECTURES[name], **settings)
    return model


def _cifar_stem(model: nn.Module, channels: int) -> None:
    # 32 pixels are too few for the stem that halves twice before the first block.
    model.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
    nn.init.kaiming_normal_(model.conv1.weight, mode="fan_out", nonlinearity="relu")
    model.maxpool = nn.Identity()
