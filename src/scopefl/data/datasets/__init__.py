"""The data sets of the paper, and any other collection, by name."""

from collections.abc import Callable
from pathlib import Path

from scopefl.data.datasets.cifar import cifar10, cifar100
from scopefl.data.datasets.dataset import Dataset
from scopefl.data.datasets.fashion import fashion_mnist
from scopefl.data.datasets.folders import eurosat, image_folder, tiny_imagenet
from scopefl.data.datasets.sources import any_source, from_source, hub
from scopefl.data.datasets.uhcs import uhcs, uhcs_patches
from scopefl.errors import ScopeError

DATASETS: dict[str, Callable[[Path], Dataset]] = {
    "cifar10": cifar10,
    "cifar100": cifar100,
    "eurosat": eurosat,
    "fashion_mnist": fashion_mnist,
    "folder": image_folder,
    "hub": hub,
    "source": any_source,
    "tiny_imagenet": tiny_imagenet,
    "uhcs": uhcs,
    "uhcs_patches": uhcs_patches,
}

__all__ = ["Dataset", "DATASETS", "from_source", "load_dataset"]


def load_dataset(name: str, folder: Path) -> Dataset:
    """Give a data set by its name from the folder that holds its archive or its files."""
    if name not in DATASETS:
        raise ScopeError(f"the data set must be one of {', '.join(DATASETS)}, got {name!r}")
    return DATASETS[name](folder)
