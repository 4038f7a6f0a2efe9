"""Libraries that import torchvision, with any build of it: one for CUDA beside a CPU torch too.

A torchvision whose compiled part cannot load fails while it describes its operator `nms`, which
then does not exist. Declaring the missing operators first lets the import pass; they still cannot
run, and nothing here runs them.
"""

import importlib
import sys
from functools import cache
from typing import Any

from scopefl.errors import ScopeError

_DECLARED = ("nms", "qnms")
_SIGNATURE = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


@cache
def import_over_torchvision(name: str) -> Any:
    """Give a module that needs torchvision, such as timm, or say what to install."""
    try:
        _import_torchvision()
        return importlib.import_module(name)
    except ImportError as missing:
        raise ScopeError(
            f"{name} must be installed with torch ({missing}); pip install 'scopefl[torch]'"
        ) from missing


def _import_torchvision() -> None:
    try:
        importlib.import_module("torchvision")
    except RuntimeError as broken:
        if "torchvision::" not in str(broken):
            raise
        for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
            del sys.modules[name]
        _declare_operators()
        importlib.import_module("torchvision")


@cache
def _declare_operators() -> Any:
    """Give the library that declares them; it must stay alive as long as torchvision does."""
    import torch

    library: Any = torch.library
    library = library.Library("torchvision", "FRAGMENT")
    for name in _DECLARED:
        library.define(f"{name}{_SIGNATURE}")
    return library
