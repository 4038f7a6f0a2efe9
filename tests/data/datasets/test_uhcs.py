import numpy as np
import pytest
from PIL import Image

from scopefl.data.datasets import load_dataset
from scopefl.data.datasets.uhcs import uhcs
from scopefl.errors import ScopeError

TABLE = """,label,micrograph_id,path,primary_microconstituent,sample_key
0,a,6,micrograph6.tif,spheroidite,29.0
1,b,7,micrograph7.tif,network,29.0
2,c,12,micrograph12.tif,pearlite,
3,d,13,micrograph13.tif,hole,30.0
4,e,14,micrograph14.tif,spheroidite,31.0
"""


def micrograph(path):
    path.parent.mkdir(exist_ok=True)
    Image.fromarray(np.full((48, 64), 90, np.uint8)).save(path)


def test_micrographs_are_found_by_either_name_and_grouped_by_specimen(tmp_path):
    (tmp_path / "uhcsdb_metadata.csv").write_text(TABLE)
    for name in ("uhcs0006.png", "micrograph7.tif", "uhcs0012.png", "uhcs0013.png", "other.png"):
        micrograph(tmp_path / "images" / name)
    dataset = load_dataset("uhcs", tmp_path)
    names = [path.name for path in dataset.images]
    assert names == ["uhcs0006.png", "micrograph7.tif", "uhcs0012.png"]
    assert [dataset.classes[label] for label in dataset.labels] == [
        "spheroidite",
        "network",
        "pearlite",
    ]
    assert dataset.groups.tolist() == ["29.0", "29.0", "uhcs0012"]
    assert dataset.pixels(32).shape == (3, 32, 32, 3)
    assert len(uhcs(tmp_path, ("hole", "network"))) == 2


def test_a_table_without_pictures_or_without_a_column_is_refused(tmp_path):
    (tmp_path / "uhcsdb_metadata.csv").write_text(TABLE)
    micrograph(tmp_path / "images" / "unnamed.png")
    with pytest.raises(ScopeError, match="1 pictures and none of them labelled"):
        load_dataset("uhcs", tmp_path)
    (tmp_path / "uhcsdb_metadata.csv").write_text("path,micrograph_id\na,1\n")
    with pytest.raises(ScopeError, match="must have a column 'primary_microconstituent'"):
        load_dataset("uhcs", tmp_path)
    (tmp_path / "uhcsdb_metadata.csv").unlink()
    with pytest.raises(ScopeError, match="must be the table of labels"):
        load_dataset("uhcs", tmp_path)


def write_patches(path):
    np.savez(
        path,
        images=np.arange(5 * 64 * 64).reshape(5, 64, 64).astype(np.uint8),
        label_rule=np.array([1, -1, 0, 1, 0]),
        class_names=np.array(["ferritic_matrix", "carbide_network"]),
        sample_key=np.array(["4.0", "4.0", "4.0", "29.0", "29.0"]),
    )


def test_patches_without_a_label_are_left_out_and_the_others_name_their_specimen(tmp_path):
    write_patches(tmp_path / "uhcs_patches64.npz")
    dataset = load_dataset("uhcs_patches", tmp_path)
    assert dataset.labels.tolist() == [1, 0, 1, 0]
    assert dataset.classes == ("ferritic matrix", "carbide network")
    assert dataset.groups.tolist() == ["4.0", "4.0", "29.0", "29.0"]


def test_a_file_that_holds_no_patches_is_refused(tmp_path):
    np.savez(tmp_path / "uhcs_patches64.npz", other=np.zeros(1))
    with pytest.raises(ScopeError, match="must be the file of UHCS patches"):
        load_dataset("uhcs_patches", tmp_path)
    (tmp_path / "uhcs_patches64.npz").unlink()
    with pytest.raises(ScopeError, match="must be the file of UHCS patches"):
        load_dataset("uhcs_patches", tmp_path)


def annotated(folder, name, mask):
    for place, pixels in (("images", np.arange(96 * 96).reshape(96, 96) % 251), ("masks", mask)):
        (folder / place).mkdir(exist_ok=True)
        Image.fromarray(np.asarray(pixels, np.uint8)).save(folder / place / f"{name}.png")


def test_patches_are_cut_from_annotated_micrographs(tmp_path):
    (tmp_path / "uhcsdb_metadata.csv").write_text(TABLE)
    spheroidite, half = np.full((96, 96), 170), np.full((96, 96), 170)
    half[:, 48:] = 85
    annotated(tmp_path, "uhcs0006", spheroidite)
    annotated(tmp_path, "uhcs0007", half)
    dataset = load_dataset("uhcs_patches", tmp_path)
    # 2 x 2 patches each: those of the half network begin at 0 (16 of 64 columns) and 32 (48 of 64).
    assert [dataset.classes[label] for label in dataset.labels] == [
        "carbide network",
        "carbide network",
        *["spheroidite"] * 4,
    ]
    assert dataset.groups.tolist() == ["29.0"] * 6
    first = np.asarray(Image.open(tmp_path / "images" / "uhcs0007.png"))
    np.testing.assert_array_equal(dataset.images[0], first[:64, 32:])


def test_a_mask_of_other_values_or_another_size_is_refused(tmp_path):
    (tmp_path / "uhcsdb_metadata.csv").write_text(TABLE)
    for mask in (np.full((96, 96), 7), np.zeros((64, 96))):
        annotated(tmp_path, "uhcs0006", mask)
        with pytest.raises(ScopeError, match="as large as .* and hold 0, 85, 170 and 255"):
            load_dataset("uhcs_patches", tmp_path)
