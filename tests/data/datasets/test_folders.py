import hashlib
import io
import zipfile

import numpy as np
import pytest
from PIL import Image

from scopefl.data.datasets import load_dataset
from scopefl.data.datasets.folders import EUROSAT_MD5, TINY_MD5, eurosat, tiny_imagenet
from scopefl.errors import ScopeError


def jpeg(shade=0):
    file = io.BytesIO()
    Image.fromarray(np.full((64, 64, 3), shade, np.uint8)).save(file, "JPEG")
    return file.getvalue()


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as packed:
        for name, content in files.items():
            packed.writestr(name, content)
    return hashlib.md5(path.read_bytes()).hexdigest()


def written(folder, files):
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content.encode() if isinstance(content, str) else content)


EUROSAT = {
    "2750/AnnualCrop/AnnualCrop_1.jpg": jpeg(10),
    "2750/AnnualCrop/AnnualCrop_2.jpg": jpeg(20),
    "2750/SeaLake/SeaLake_1.jpg": jpeg(30),
}
TINY = {
    "tiny-imagenet-200/wnids.txt": "n02\nn01\nn03\n",
    "tiny-imagenet-200/words.txt": "n01\tgoldfish, Carassius\nn02\tcrane\nn03\tcrane, bird\n",
    "tiny-imagenet-200/train/n01/images/n01_0.JPEG": jpeg(1),
    "tiny-imagenet-200/train/n01/n01_boxes.txt": "n01_0.JPEG\t0\t0\t62\t62\n",
    "tiny-imagenet-200/train/n02/images/n02_0.JPEG": jpeg(2),
    "tiny-imagenet-200/train/n03/images/n03_0.JPEG": jpeg(3),
    "tiny-imagenet-200/val/val_annotations.txt": "val_0.JPEG\tn01\t0\t32\t44\t62\n",
    "tiny-imagenet-200/val/images/val_0.JPEG": jpeg(4),
    "tiny-imagenet-200/test/images/test_0.JPEG": jpeg(5),
}


def test_a_folder_of_class_folders(tmp_path):
    written(
        tmp_path, {"b/1.PNG": jpeg(), "a/deep/2.jpg": jpeg(), "a/note.txt": "", ".git/3.jpg": ""}
    )
    dataset = load_dataset("folder", tmp_path)
    assert dataset.classes == ("a", "b")
    assert [path.name for path in dataset.images] == ["2.jpg", "1.PNG"]
    assert dataset.labels.tolist() == [0, 1]
    assert dataset.test is None


def test_a_folder_without_class_folders_is_refused(tmp_path):
    written(tmp_path, {"a/1.jpg": jpeg()})
    with pytest.raises(ScopeError, match="at least 2 class folders with pictures, got 1 folders"):
        load_dataset("folder", tmp_path)
    with pytest.raises(ScopeError, match="must be a folder of class folders"):
        load_dataset("folder", tmp_path / "missing")


def test_eurosat_is_read_from_its_archive_and_unpacked(tmp_path):
    md5 = zipped(tmp_path / "EuroSAT.zip", EUROSAT)
    written(tmp_path / "by hand", EUROSAT)
    for dataset in (eurosat(tmp_path, md5), load_dataset("eurosat", tmp_path / "by hand")):
        assert dataset.classes == ("annual crop", "sea lake")
        assert dataset.labels.tolist() == [0, 0, 1]
        assert abs(dataset.pixels(64)[:, 0, 0, 0].astype(int) - [10, 20, 30]).max() <= 1


def test_an_archive_with_a_wrong_checksum_is_refused_before_it_is_opened(tmp_path):
    zipped(tmp_path / "EuroSAT.zip", EUROSAT)
    zipped(tmp_path / "tiny-imagenet-200.zip", TINY)
    with pytest.raises(ScopeError, match=f"must have MD5 {EUROSAT_MD5}"):
        load_dataset("eurosat", tmp_path)
    with pytest.raises(ScopeError, match=f"must have MD5 {TINY_MD5}"):
        load_dataset("tiny_imagenet", tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_tiny_imagenet_is_read_from_its_archive_and_unpacked(tmp_path):
    md5 = zipped(tmp_path / "tiny-imagenet-200.zip", TINY)
    written(tmp_path / "by hand", TINY)
    for dataset in (
        tiny_imagenet(tmp_path, md5),
        load_dataset("tiny_imagenet", tmp_path / "by hand"),
    ):
        assert dataset.classes == ("crane (n02)", "goldfish", "crane (n03)")
        assert dataset.labels.tolist() == [0, 1, 2, 1]
        assert dataset.test.tolist() == [False, False, False, True]
        assert dataset.images[3].name == "val_0.JPEG"
        assert dataset.pixels(32).shape == (4, 32, 32, 3)


def test_a_validation_class_that_is_not_listed_is_refused(tmp_path):
    written(tmp_path, TINY | {"tiny-imagenet-200/wnids.txt": "n02\nn03\n"})
    with pytest.raises(ScopeError, match="n01 is not there"):
        load_dataset("tiny_imagenet", tmp_path)


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(ScopeError, match=r"tiny-imagenet-200\.zip must lie in"):
        load_dataset("tiny_imagenet", tmp_path)
    with pytest.raises(ScopeError, match=r"EuroSAT\.zip must lie in"):
        load_dataset("eurosat", tmp_path)
    (tmp_path / "tiny-imagenet-200").mkdir()
    with pytest.raises(ScopeError, match=r"wnids\.txt must be a UTF-8 text file"):
        load_dataset("tiny_imagenet", tmp_path)
