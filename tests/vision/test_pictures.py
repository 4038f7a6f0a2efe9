import numpy as np
import pytest
from PIL import Image

from scopefl.errors import ScopeError
from scopefl.vision.pictures import read_pictures


def save(path, mode="RGB", value=100):
    path.parent.mkdir(exist_ok=True)
    Image.new(mode, (4, 3), value if mode in ("L", "I;16") else (value, 0, 0)).save(path)


def test_folders_named_like_classes_give_the_labels(tmp_path):
    save(tmp_path / "dog" / "b.png")
    save(tmp_path / "cat" / "a.png", "L")
    found = read_pictures(tmp_path, ["cat", "dog"])
    assert found.labels is not None
    assert found.labels.tolist() == [0, 1]
    np.testing.assert_array_equal(found.images[0], np.full((3, 4, 3), 100))


def test_other_folders_give_none(tmp_path):
    save(tmp_path / "a.png")
    assert read_pictures(tmp_path, ["cat", "dog"]).labels is None


def test_what_is_no_8_bit_picture_is_left_out(tmp_path):
    save(tmp_path / "a.png")
    save(tmp_path / "b.png", "I;16")
    (tmp_path / "c.jpg").write_bytes(b"<html>")
    assert len(read_pictures(tmp_path, ["cat", "dog"]).images) == 1


def test_a_folder_without_pictures_is_an_error(tmp_path):
    with pytest.raises(ScopeError, match="at least one 8-bit picture"):
        read_pictures(tmp_path, ["cat", "dog"])
