import numpy as np
import pytest
from PIL import Image

from scopefl.data.datasets import load_dataset
from scopefl.errors import ScopeError


def pictures(folder, n=6):
    folder.mkdir(parents=True)
    for i in range(n):
        Image.new("RGB", (9, 12), (40 * i, 0, 0)).save(folder / f"{i}.png")
    return folder


def test_a_table_is_a_data_set(tmp_path):
    pictures(tmp_path / "images")
    rows = [f"images/{i}.png,{'cat' if i % 2 else 'dog'}" for i in range(6)]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(["path,label", *rows]))
    dataset = load_dataset("source", table)
    assert dataset.classes == ("cat", "dog")
    assert dataset.labels.tolist() == [1, 0, 1, 0, 1, 0]
    assert dataset.test is None
    pixels = dataset.pixels(8, np.array([0, 5]))
    assert pixels.shape == (2, 8, 8, 3)
    assert pixels[1, 4, 4].tolist() == [200, 0, 0]


def test_a_broken_picture_of_a_source_is_named(tmp_path):
    pictures(tmp_path / "a" / "cat", 2)
    (tmp_path / "a" / "dog").mkdir()
    (tmp_path / "a" / "dog" / "1.png").write_bytes(b"no picture")
    dataset = load_dataset("source", tmp_path / "a")
    with pytest.raises(ScopeError, match=r"dog/1\.png must be a picture"):
        dataset.pixels(8)


def test_a_source_without_labels_is_refused(tmp_path):
    with pytest.raises(ScopeError, match="none of its 1 items has one"):
        load_dataset("source", pictures(tmp_path / "bare", 1))


def of_the_hub(folder, label="label", **columns):
    datasets = pytest.importorskip("datasets")
    images = pictures(folder.parent / f"of {folder.name}")
    files = [str(images / f"{i}.png") for i in range(6)]
    kinds = {"img": datasets.Image(), label: datasets.ClassLabel(names=["matrix", "network"])}
    features = datasets.Features(kinds | {name: datasets.Value("int64") for name in columns})
    rows = datasets.Dataset.from_dict(
        {"img": files, label: [0, 1] * 3, **columns}, features=features
    )
    return rows, datasets.DatasetDict({"train": rows.select(range(4)), "test": rows.select([4, 5])})


def check(dataset):
    assert dataset.classes == ("matrix", "network")
    assert dataset.labels.tolist() == [0, 1] * 3
    assert dataset.test.tolist() == [False] * 4 + [True] * 2
    assert dataset.pixels(8)[5, 4, 4].tolist() == [200, 0, 0]


@pytest.mark.slow
def test_a_data_set_saved_from_the_hub_keeps_its_classes_and_its_test_part(tmp_path):
    whole, parts = of_the_hub(tmp_path / "parts", "fine_label", coarse=[0] * 6)
    parts.save_to_disk(str(tmp_path / "parts"))
    check(load_dataset("hub", tmp_path / "parts"))
    whole.save_to_disk(str(tmp_path / "whole"))
    assert load_dataset("hub", tmp_path / "whole").test is None


@pytest.mark.slow
def test_a_data_set_loads_in_the_layout_of_the_hub(tmp_path, monkeypatch):
    _, parts = of_the_hub(tmp_path / "repository")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", str(tmp_path / "cache"))
    for name, part in parts.items():
        (tmp_path / "repository").mkdir(exist_ok=True)
        part.to_parquet(tmp_path / "repository" / f"{name}-00000-of-00001.parquet")
    check(load_dataset("hub", tmp_path / "repository"))


@pytest.mark.slow
def test_what_is_no_data_set_of_images_is_refused(tmp_path):
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_dict({"text": ["a"]}).save_to_disk(str(tmp_path / "texts"))
    with pytest.raises(ScopeError, match="a column of images and one of classes, it has text"):
        load_dataset("hub", tmp_path / "texts")
    with pytest.raises(ScopeError, match="must be a data set's name on the hub or its folder"):
        load_dataset("hub", tmp_path / "nothing")
