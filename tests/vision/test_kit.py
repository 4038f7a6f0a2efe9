import dataclasses
import json
import os
import shutil

import numpy as np
import pytest

from scopefl.core.fingerprint import canonical_json
from scopefl.errors import ScopeError
from scopefl.vision import onnx_bytes
from scopefl.vision.kit import Kit, npy_bytes
from tests.vision import small


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kits") / "tiny"
    small.kit().save(folder)
    return folder


@pytest.fixture
def copy(saved, tmp_path):
    return shutil.copytree(saved, tmp_path / "kit")


def rewrite(folder, **changes):
    found = json.loads((folder / "kit.json").read_bytes())
    (folder / "kit.json").write_bytes(canonical_json({**found, **changes}))


def test_a_saved_kit_loads_as_it_was(saved):
    kit, made = Kit.load(saved), small.kit()
    assert kit.manifest == made.manifest
    assert kit.fingerprint == made.fingerprint
    assert kit.classes == small.CLASSES
    np.testing.assert_array_equal(kit.prototypes, small.DRAFT.prototypes)
    assert sorted(path.name for path in saved.iterdir()) == [
        "canaries.npy",
        "image.onnx",
        "kit.json",
        "prototypes.npy",
    ]


def test_the_manifest_is_canonical_json(saved):
    raw = (saved / "kit.json").read_bytes()
    assert canonical_json(json.loads(raw)) == raw


def test_saving_over_something_is_refused(saved):
    with pytest.raises(ScopeError, match="must not exist yet"):
        small.kit().save(saved)


def test_classes_that_a_kit_was_not_built_for_are_refused(saved):
    with pytest.raises(ScopeError, match="built for the classes cat, dog, eel"):
        Kit.load(saved, ["cat", "dog", "fox"])
    assert Kit.load(saved, small.CLASSES).classes == small.CLASSES


@pytest.mark.parametrize("name", ["image.onnx", "prototypes.npy", "canaries.npy"])
def test_one_flipped_bit_is_noticed(copy, name):
    raw = bytearray((copy / name).read_bytes())
    raw[len(raw) // 2] ^= 1
    (copy / name).write_bytes(raw)
    with pytest.raises(ScopeError, match="is not the file"):
        Kit.load(copy)


@pytest.mark.parametrize("name", ["kit.json", "image.onnx", "prototypes.npy"])
def test_symbolic_links_are_refused(copy, tmp_path, name):
    (copy / name).rename(tmp_path / "elsewhere")
    (copy / name).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ScopeError, match="plain file"):
        Kit.load(copy)


def test_a_missing_file_is_named(copy):
    (copy / "prototypes.npy").unlink()
    with pytest.raises(ScopeError, match=r"prototypes\.npy must be a plain file"):
        Kit.load(copy)


def test_a_file_beyond_its_cap_is_refused_before_it_is_read(copy):
    os.truncate(copy / "prototypes.npy", 1 << 40)
    with pytest.raises(ScopeError, match="must be at most"):
        Kit.load(copy)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"format": 2}, "update scopefl"),
        ({"dim": 0}, "dim must be"),
        ({"dim": "24"}, "must have the fields"),
        ({"colour": "red"}, "unknown field 'colour'"),
        ({"classes": ["cat"]}, "at least 2 classes"),
        ({"classes": ["cat", "cat", "eel"]}, "given twice"),
        ({"classes": ["cat", 7, "eel"]}, "a text without control characters was expected"),
        ({"prompts": ["a photo"]}, "must hold"),
        ({"files": {"../../x": "0"}}, "it must list"),
        ({"canary_rs": [0.0]}, "16 numbers"),
        ({"warnings": ["\x1b[2Jpay us"]}, "without control characters"),
        ({"arithmetic": "bf16"}, "arithmetic of a kit must be f32"),
        ({"preprocessing": {"size": 10**9}}, "must have the fields"),
    ],
)
def test_a_manifest_that_breaks_a_rule_is_refused_by_that_rule(copy, changes, told):
    rewrite(copy, **changes)
    with pytest.raises(ScopeError, match=told):
        Kit.load(copy)


@pytest.mark.parametrize("raw", [b"", b"[]", b"{}", b"\xff", b"[" * 100_000])
def test_what_is_no_manifest_is_refused(copy, raw):
    (copy / "kit.json").write_bytes(raw)
    with pytest.raises(ScopeError, match="JSON with a format number"):
        Kit.load(copy)


def replace_file(folder, name, raw):
    import hashlib

    found = json.loads((folder / "kit.json").read_bytes())
    (folder / name).write_bytes(raw)
    rewrite(folder, files={**found["files"], name: hashlib.sha256(raw).hexdigest()})


def test_arrays_of_objects_are_refused(copy):
    import io

    buffer = io.BytesIO()
    np.save(buffer, np.array([{}], object), allow_pickle=True)
    replace_file(copy, "prototypes.npy", buffer.getvalue())
    with pytest.raises(ScopeError, match="does not read"):
        Kit.load(copy)


@pytest.mark.parametrize(
    "values",
    [
        np.ones((2, small.DIM), np.float32),
        np.full((3, small.DIM), np.nan, np.float32),
        np.full((3, small.DIM), 2, np.float32),
    ],
)
def test_prototypes_must_be_finite_unit_rows_of_the_right_shape(copy, values):
    replace_file(copy, "prototypes.npy", npy_bytes(values))
    with pytest.raises(ScopeError, match="must hold"):
        Kit.load(copy)


def test_a_tower_with_foreign_operators_is_refused(copy):
    foreign = onnx_bytes.node("Evil", ["pixels"], "embedding") + b"\x3a\x04evil"
    replace_file(copy, "image.onnx", onnx_bytes.model("m", [foreign], [], [], []))
    with pytest.raises(ScopeError, match="standard ONNX operators"):
        Kit.load(copy)


def test_what_is_no_kit_is_told_the_two_ways(tmp_path):
    with pytest.raises(ScopeError, match="a kit's folder or the word offline"):
        Kit.load(tmp_path / "none")
    with pytest.raises(ScopeError, match="name them"):
        Kit.load("offline")


def test_every_part_that_decides_a_score_is_in_the_fingerprint():
    base = small.kit()
    rule = dataclasses.replace(small.RULE, interpolation="bilinear")
    origin = dataclasses.replace(small.ORIGIN, tokenizer_sha256="1" * 64)
    others = [
        small.kit(model=small.tower(seed=5)),
        small.kit(preprocessing=rule),
        small.kit(prototypes=small.prototypes(seed=5)),
        small.kit(prompts=["a foto of a {class_name}."]),
        small.kit(origin=origin),
        small.kit(recipe="ab"),
        base.used({"window": "0..4095"}, "onnxruntime"),
    ]
    prints = {kit.fingerprint for kit in others}
    assert len(prints) == len(others)
    assert all(found[:3] == base.fingerprint[:3] != b"" for found in prints)
    assert base.fingerprint not in prints
    reordered = small.kit(classes=("dog", "cat", "eel"))
    assert reordered.fingerprint[:3] != base.fingerprint[:3]


def test_float32_is_one_fingerprint_and_every_narrower_arithmetic_another():
    pytest.importorskip("openvino")
    kit = small.kit()
    assert kit.used({}, "openvino").fingerprint == kit.used({}, "onnxruntime").fingerprint
    assert kit.used({}, "auto").fingerprint == kit.fingerprint
    assert kit.used({}, "openvino-bf16").fingerprint != kit.fingerprint


def test_the_licence_and_description_do_not_decide_a_score():
    other = dataclasses.replace(small.ORIGIN, licence="MIT", description="another")
    assert small.kit(origin=other).fingerprint == small.kit().fingerprint
