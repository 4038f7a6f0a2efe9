"""One small collection of every kind: six pictures, the fourth of them broken."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from PIL import Image

from scopefl.data.opening import open_source
from scopefl.data.source import Source
from scopefl.testing.exhibit import encoded, grey, tiff

# Timings on a shared machine say nothing about a law.
settings.register_profile("without deadline", deadline=None)
settings.load_profile("without deadline")

LABELS = ["matrix", "network", "matrix", "network", "matrix", "network"]
BROKEN = 3


def pictures() -> list[bytes]:
    files = [encoded(np.roll(grey(), number, axis=0)) for number in range(len(LABELS))]
    files[BROKEN] = files[BROKEN][:500]
    return files


def arrays() -> np.ndarray:
    return np.stack([np.roll(grey(), number, axis=0) for number in range(len(LABELS))])


def folder(place: Path) -> Path:
    for number, (label, data) in enumerate(zip(LABELS, pictures(), strict=True)):
        (place / label).mkdir(parents=True, exist_ok=True)
        (place / label / f"{number}.png").write_bytes(data)
    return place


def table(place: Path) -> Path:
    folder(place)
    rows = [f"{label}/{number}.png,{label}" for number, label in enumerate(LABELS)]
    (place / "table.csv").write_text("\n".join(["path,label", *rows]))
    return place / "table.csv"


def parquet(place: Path) -> Path:
    import pyarrow as pa
    from pyarrow import parquet as pq

    folder(place)
    paths = [f"{label}/{number}.png" for number, label in enumerate(LABELS)]
    pq.write_table(pa.table({"path": paths, "label": LABELS}), place / "table.parquet")
    return place / "table.parquet"


def shards(place: Path) -> Path:
    place.mkdir(exist_ok=True)
    for shard in (0, 1):
        with tarfile.open(place / f"shard-{shard}.tar", "w") as tar:
            for number in range(3 * shard, 3 * shard + 3):
                add(tar, f"{number:04}.png", pictures()[number])
                add(tar, f"{number:04}.cls", LABELS[number].encode())
    return place


def add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size = len(data)
    tar.addfile(member, io.BytesIO(data))


def hdf5(place: Path) -> Path:
    import h5py

    with h5py.File(place / "stack.nxs", "w") as root:
        root.attrs["default"] = "entry"
        entry = root.create_group("entry")
        entry.attrs["default"] = "data"
        data = entry.create_group("data")
        data.attrs["signal"] = "frames"
        data["frames"] = arrays()
        data["flat"] = arrays() * 0
        data["labels"] = LABELS
    return place / "stack.nxs"


def zarr(place: Path) -> Path:
    import zarr

    root = zarr.open_group(place / "stack.zarr", mode="w")
    root.create_array("frames", data=arrays(), chunks=(1, 80, 96))
    root.create_array("numbers", data=np.arange(6))
    return place / "stack.zarr"


def pages(place: Path) -> Path:
    path = place / "pages.tif"
    path.write_bytes(tiff(arrays(), photometric="minisblack", metadata=None))
    return path


def hub(place: Path) -> Any:
    import datasets

    features = datasets.Features(
        {"image": datasets.Image(), "label": datasets.ClassLabel(names=["matrix", "network"])}
    )
    rows = {"image": [{"bytes": data, "path": None} for data in pictures()], "label": LABELS}
    return datasets.Dataset.from_dict(rows, features=features)


def saved(place: Path) -> Path:
    hub(place).save_to_disk(str(place / "saved"))
    return place / "saved"


class TorchStyle:
    """What torchvision's datasets look like from outside."""

    def __init__(self) -> None:
        self.classes = ["matrix", "network"]
        self.targets = [self.classes.index(label) for label in LABELS]

    def __len__(self) -> int:
        return len(LABELS)

    def __getitem__(self, position: int) -> tuple[Image.Image, int]:
        image = Image.open(io.BytesIO(pictures()[position]))
        image.load()
        return image, self.targets[position]


class Bare:
    """A dataset that has nothing but len and getitem, and gives dictionaries of arrays."""

    def __len__(self) -> int:
        return len(LABELS)

    def __getitem__(self, position: int) -> dict[str, Any]:
        if position == BROKEN:
            raise RuntimeError("the disk said no")
        return {"image": arrays()[position], "label": LABELS[position]}


KINDS: dict[str, tuple[Callable[[Path], Any], dict[str, Any]]] = {
    "folder": (folder, {}),
    "table": (table, {}),
    "parquet": (parquet, {}),
    "shards": (shards, {}),
    "hdf5": (hdf5, {"label_array": "entry/data/labels"}),
    "zarr": (zarr, {"array": "frames", "label_array": "numbers"}),
    "pages": (pages, {"label": "matrix"}),
    "hub": (hub, {}),
    "saved": (saved, {}),
    "torch": (lambda place: TorchStyle(), {}),
    "bare": (lambda place: Bare(), {}),
}


@pytest.fixture
def build(tmp_path: Path) -> Callable[[str], Source]:
    """Open the collection of one kind, made in a folder of its own."""

    def opened(kind: str, **more: Any) -> Source:
        make, options = KINDS[kind]
        place = tmp_path / kind
        place.mkdir()
        return open_source(make(place), **options, **more)

    return opened


@pytest.fixture(params=list(KINDS))
def any_source(request: pytest.FixtureRequest, build: Callable[[str], Source]) -> Source:
    """Return the small collection, as every kind of source in turn."""
    return build(request.param)
