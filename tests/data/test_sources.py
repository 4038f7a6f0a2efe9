"""The contract of every source, and what `open_source` makes of paths and objects."""

import json
import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from scopefl.data.decoding import DecodingRules, Unreadable, decode, raw_of
from scopefl.data.labels import class_numbers
from scopefl.data.numbered import Numbered
from scopefl.data.opening import open_source
from scopefl.data.source import Source
from scopefl.errors import ScopeError
from scopefl.testing import check_source
from scopefl.testing.exhibit import grey

Build = Callable[..., Source]


def test_every_source_conforms(any_source: Source) -> None:
    assert check_source(any_source) == 6


def test_every_source_gives_the_pictures_that_were_put_in(any_source: Source) -> None:
    found = [_first_row(item) for item in any_source]
    wanted = [int(np.roll(grey(), number, axis=0)[0].sum()) for number in range(6)]
    readable = [row for row in found if row is not None]
    assert len(readable) >= 5
    assert set(readable) <= set(wanted)
    assert len(set(readable)) == len(readable)


def test_every_source_can_be_sent_to_another_process(any_source: Source) -> None:
    sent = pickle.loads(cloudpickle.dumps(any_source))
    assert [(one.id, one.path, one.label) for one in sent] == [
        (one.id, one.path, one.label) for one in any_source
    ]
    assert [_first_row(one) for one in sent] == [_first_row(one) for one in any_source]


def _first_row(item: Any) -> int | None:
    try:
        return int(decode(raw_of(item), DecodingRules()).pixels[0, :, 0].astype(int).sum())
    except Unreadable:
        return None


@pytest.mark.parametrize("kind", ["folder", "table", "parquet", "shards", "hub", "saved", "bare"])
def test_a_broken_item_is_listed_and_fails_alone(kind: str, build: Build) -> None:
    failures = [item for item in build(kind) if _first_row(item) is None]
    assert len(failures) == 1


@pytest.mark.parametrize("kind", ["folder", "table", "parquet", "shards", "hub", "torch", "hdf5"])
def test_labels_come_with_the_items(kind: str, build: Build) -> None:
    labels = sorted(str(item.label) for item in build(kind))
    assert labels == ["matrix"] * 3 + ["network"] * 3


def test_sources_that_know_their_classes_say_so(build: Build) -> None:
    for kind in ("folder", "hub", "torch"):
        assert build(kind).classes == ("matrix", "network")
    assert build("table").classes is None


def test_an_option_of_another_kind_is_refused(build: Build) -> None:
    with pytest.raises(ScopeError, match="label_array does not apply to a folder"):
        build("folder", label_array="labels")


def test_an_option_that_is_none_counts_as_not_given(build: Build) -> None:
    assert len(build("folder", label_array=None)) == 6


def test_a_source_is_taken_as_it_is(build: Build) -> None:
    source = build("folder")
    assert open_source(source) is source


def test_what_is_no_collection_is_refused_with_what_would_be(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(b"")
    for what in (tmp_path / "film.mp4", 7, iter([])):
        with pytest.raises(ScopeError, match="a folder of class folders"):
            open_source(what)
    with pytest.raises(ScopeError, match="there is no"):
        open_source(tmp_path / "gone")


class TestHdf5AndZarr:
    def test_the_signal_of_a_nexus_file_is_found(self, build: Build) -> None:
        assert next(iter(build("hdf5"))).id == "entry/data/frames/00000000"

    def test_without_a_default_the_only_marked_signal_is_found(self, tmp_path: Path) -> None:
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "a.h5", "w") as root:
            root.create_group("x/y").attrs["signal"] = np.bytes_(b"z")
            root["x/y/z"] = np.zeros((2, 9, 9))
            root["other"] = np.zeros((2, 9, 9))
        assert len(open_source(tmp_path / "a.h5")) == 2

    def test_several_arrays_are_listed_and_one_can_be_named(self, tmp_path: Path) -> None:
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "a.h5", "w") as root:
            root["one"], root["two"] = np.zeros((2, 9, 9)), np.zeros((3, 9, 9))
            root["flat"] = np.zeros((12, 9))
        with pytest.raises(ScopeError, match="one, two"):
            open_source(tmp_path / "a.h5")
        assert len(open_source(tmp_path / "a.h5", array="two")) == 3
        assert len(open_source(tmp_path / "a.h5", array="flat")) == 1
        with pytest.raises(ScopeError, match="no array 'three'"):
            open_source(tmp_path / "a.h5", array="three")
        with pytest.raises(ScopeError, match="one label a picture"):
            open_source(tmp_path / "a.h5", array="two", label_array="flat")

    def test_a_file_that_is_not_hdf5_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "a.h5").write_bytes(b"no")
        with pytest.raises(ScopeError, match="cannot be opened as HDF5"):
            open_source(tmp_path / "a.h5")

    def test_an_array_of_text_is_no_picture(self, tmp_path: Path) -> None:
        h5py = pytest.importorskip("h5py")
        with h5py.File(tmp_path / "a.h5", "w") as root:
            root["words"] = [["a", "b"], ["c", "d"]]
        with pytest.raises(ScopeError, match="must hold numbers"):
            open_source(tmp_path / "a.h5", array="words")

    def test_a_zarr_store_that_is_one_array_needs_no_name(self, tmp_path: Path) -> None:
        zarr = pytest.importorskip("zarr")
        zarr.save_array(tmp_path / "a.zarr", np.zeros((4, 9, 9), np.uint8))
        assert [item.id for item in open_source(tmp_path / "a.zarr")][3] == "array/00000003"

    @pytest.mark.parametrize(
        ("dtype", "filters", "compressor"),
        [
            ("|u1", [{"id": "pickle"}], None),
            ("|u1", [{"id": "delta", "dtype": "|u1"}, {"id": "pickle"}], None),
            ("|u1", None, {"id": "pickle"}),
            ("|O", [{"id": "pickle"}], None),
        ],
    )
    def test_pickled_chunks_are_refused_before_they_are_read(
        self, tmp_path: Path, dtype: str, filters: Any, compressor: Any
    ) -> None:
        pytest.importorskip("zarr")
        (tmp_path / "a.zarr").mkdir()
        metadata = {
            "zarr_format": 2, "shape": [2, 9, 9], "chunks": [2, 9, 9], "dtype": dtype,
            "fill_value": 0, "order": "C", "filters": filters, "compressor": compressor,
        }  # fmt: skip
        (tmp_path / "a.zarr" / ".zarray").write_text(json.dumps(metadata))
        touch = f"cbuiltins\nopen\n(V{tmp_path}/ran\nVw\ntR."
        (tmp_path / "a.zarr" / "0.0.0").write_text(touch)
        with pytest.raises(ScopeError):
            open_source(tmp_path / "a.zarr")
        assert not (tmp_path / "ran").exists()

    def test_metadata_that_is_not_json_is_refused(self, tmp_path: Path) -> None:
        pytest.importorskip("zarr")
        (tmp_path / "a.zarr").mkdir()
        (tmp_path / "a.zarr" / "zarr.json").write_text("{")
        with pytest.raises(ScopeError, match="cannot be opened as Zarr"):
            open_source(tmp_path / "a.zarr")

    @pytest.mark.parametrize(
        ("module", "kind", "extra"), [("h5py", "hdf5", "hdf5"), ("zarr", "zarr", "zarr")]
    )
    def test_a_library_that_is_not_installed_is_named_with_its_extra(
        self, module: str, kind: str, extra: str, build: Build, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        source = build(kind)
        place = source.path
        monkeypatch.setitem(sys.modules, module, None)
        with pytest.raises(ScopeError, match=rf'pip install "scopefl\[{extra}\]"'):
            open_source(place)


class TestTorchStyle:
    def test_labels_are_fetched_with_the_images_when_there_are_no_targets(
        self, build: Build
    ) -> None:
        labels = [item.label for item in build("bare")]
        assert labels == ["matrix", "network", "matrix", None, "matrix", "network"]

    def test_tensors_are_taken_as_channel_first(self) -> None:
        torch = pytest.importorskip("torch")
        tensor = torch.arange(3 * 20 * 30).reshape(3, 20, 30).to(torch.uint8)
        (item,) = open_source([(tensor, 4)])
        pixels = decode(raw_of(item), DecodingRules()).pixels
        assert np.array_equal(pixels, tensor.numpy().transpose(1, 2, 0))
        assert item.label == "4"

    def test_labels_that_are_numbers_with_a_fraction_are_refused(self) -> None:
        with pytest.raises(ScopeError, match="whole numbers"):
            list(open_source([(grey(), 0.5)]))


class TestHub:
    def test_columns_that_are_not_there_are_listed(self, build: Build) -> None:
        with pytest.raises(ScopeError, match="it has image, label"):
            build("hub", image_column="picture")

    def test_a_dictionary_of_splits_is_refused(self) -> None:
        datasets = pytest.importorskip("datasets")
        with pytest.raises(ScopeError, match="one split"):
            open_source(datasets.DatasetDict())

    def test_a_saved_dictionary_of_splits_names_its_folders(self, tmp_path: Path) -> None:
        datasets = pytest.importorskip("datasets")
        one = datasets.Dataset.from_dict({"label": [0]})
        datasets.DatasetDict({"train": one, "test": one}).save_to_disk(str(tmp_path / "d"))
        with pytest.raises(ScopeError, match="give one of its folders, test, train"):
            open_source(tmp_path / "d")

    def test_a_saved_dataset_that_is_broken_is_one_sentence(self, tmp_path: Path) -> None:
        for name in ("state.json", "dataset_info.json"):
            (tmp_path / name).write_text("{}")
        with pytest.raises(ScopeError, match="cannot be opened as a dataset"):
            open_source(tmp_path)


def test_labels_that_count_the_classes_get_their_names(build: Build) -> None:
    numbers, words = build("zarr"), build("hdf5")
    short = Numbered(numbers, ("a", "b", "c", "d", "e"))
    assert [item.label for item in short] == ["a", "b", "c", "d", "e", "5"]
    assert [one.label for one in Numbered(words, ("a", "b"))] == [one.label for one in words]
    assert check_source(Numbered(numbers, ("a", "b", "c", "d", "e", "f"))) == 6


def test_numbers_that_are_no_classes_are_told_how_they_could_be() -> None:
    with pytest.raises(ScopeError, match="if they count the classes from 0, add --numbered"):
        class_numbers(["0", "1"], ["cat", "dog"])


def test_pages_keep_what_the_file_says_of_them(tmp_path: Path) -> None:
    tifffile = pytest.importorskip("tifffile")
    deep = grey().astype(np.uint16) * 257
    with tifffile.TiffWriter(tmp_path / "a.tif") as writer:
        writer.write(deep, metadata=None)
        writer.write(65535 - deep, photometric="miniswhite", metadata=None)
        writer.write(np.dstack([grey()] * 3), photometric="rgb", metadata=None)
        palette = np.stack([np.arange(256) * 257] * 3).astype(np.uint16)
        writer.write(grey(), photometric="palette", colormap=palette, metadata=None)
    rules = DecodingRules(window=(0.0, 65535.0))
    for item in open_source(tmp_path / "a.tif"):
        assert np.array_equal(decode(raw_of(item), rules).pixels[..., 1], grey()), item.id
