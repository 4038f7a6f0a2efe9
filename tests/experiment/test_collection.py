import numpy as np
import pytest
from PIL import Image

from scopefl.errors import ScopeError
from scopefl.experiment.collection import PLACELESS, kit_for, load_collection
from scopefl.experiment.settings import Data
from tests.vision.small import CLASSES, folder, kit


@pytest.fixture
def pictures(tmp_path, monkeypatch):
    monkeypatch.setenv("SCOPEFL_CACHE", str(tmp_path / "cache"))
    kit().save(tmp_path / "kits" / "folder")
    return folder(tmp_path / "images")


def data(pictures, **changes):
    plain = {"folder": str(pictures), "side": 24, "encoder": str(pictures.parent / "kits")}
    return Data("folder", **{**plain, **changes})


def test_an_encoder_is_a_kit_or_a_folder_with_one_for_each_data_set(pictures):
    kits = pictures.parent / "kits"
    by_name, itself = (
        kit_for(data(pictures, encoder=str(p)), CLASSES) for p in (kits, kits / "folder")
    )
    assert by_name.fingerprint == itself.fingerprint == kit().fingerprint
    with pytest.raises(ScopeError, match="built for the classes cat, dog, eel"):
        kit_for(data(pictures), ("cat", "cow"))


def test_embeddings_are_kept_by_their_pixels_and_mended_where_damaged(pictures):
    first = load_collection(data(pictures))
    kept = list((pictures.parent / "cache" / "embeddings").iterdir())
    assert len(kept) == 1
    kept[0].write_bytes(b"damaged")
    seen = []
    again = load_collection(data(pictures), lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(first.train.embeddings, again.train.embeddings)
    assert seen == [(12, 12)]
    assert first.test is None
    assert first.an_image.flops > 0
    assert first.an_image.seconds > 0


def test_as_many_images_of_each_class_as_asked_for(pictures):
    assert np.bincount(load_collection(data(pictures, samples=2)).train.labels).tolist() == [2] * 3


def test_a_broken_picture_is_named(pictures):
    (pictures / "cat" / "0000.png").write_bytes(b"no picture")
    with pytest.raises(ScopeError, match=r"0000\.png must be a picture"):
        load_collection(data(pictures))


def test_images_of_any_size_come_at_the_side_asked_for(pictures):
    Image.new("L", (50, 31)).save(pictures / "cat" / "0000.png")
    assert load_collection(data(pictures, side=16)).train.images.shape == (12, 16, 16, 3)


def test_what_is_held_out_is_one_of_two(pictures):
    with pytest.raises(ScopeError, match="held_out must be test or train, got 'validation'"):
        load_collection(data(pictures, held_out="validation"))


@pytest.mark.parametrize("name", PLACELESS)
def test_a_collection_of_ones_own_must_be_somewhere(name):
    with pytest.raises(ScopeError, match=f"must say where '{name}' finds its images"):
        load_collection(Data(name))
