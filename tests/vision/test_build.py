import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner

from scopefl.cli.main import scope
from scopefl.errors import ScopeError
from scopefl.vision import build, canaries, runtimes
from scopefl.vision.backbones import Backbone, backbone, backbones
from scopefl.vision.kit import Kit
from scopefl.vision.prompts import sentences
from scopefl.vision.weights import hub_weights, local_weights
from tests.vision import small

pytestmark = pytest.mark.slow  # torch and open_clip take seconds to import and build

torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")

CLASSES = ("cat", "dog", "eel")
SMALL = Backbone(
    "small", "", "", "a/test", "unpinned", "unknown", "Apache-2.0", 1, 64,
    architecture={
        "embed_dim": 32,
        "vision_cfg": {"layers": 2, "width": 64, "head_width": 32, "patch_size": 16,
                       "image_size": 64},
        "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 32, "heads": 2,
                     "layers": 2},
    },
)  # fmt: skip


def random_weights(entry, path, seed=0):
    """Save the real architecture with random weights, batch norms with a past of their own."""
    from safetensors.torch import save_file

    torch.manual_seed(seed)
    clip = build.new_clip(entry)
    for module in clip.modules():
        if isinstance(module, torch.nn.BatchNorm2d):
            module.running_mean.normal_(0, 0.1)
            module.running_var.uniform_(0.5, 1.5)
    save_file({name: value.clone() for name, value in clip.state_dict().items()}, path)
    return path


@pytest.fixture(scope="module")
def weights(tmp_path_factory):
    path = random_weights(SMALL, tmp_path_factory.mktemp("weights") / "small.safetensors")
    return local_weights(path, SMALL)


@pytest.fixture(scope="module")
def kit(weights):
    return build.build_kit(SMALL, weights, CLASSES)


def test_a_built_kit_is_saved_loaded_and_checked(kit, weights, tmp_path):
    kit.save(tmp_path / "kit")
    loaded = Kit.load(tmp_path / "kit")
    assert loaded.check("onnxruntime").passed
    assert loaded.manifest == kit.manifest
    assert loaded.manifest.origin.weights_sha256 == weights.sha256
    assert loaded.manifest.origin.revision == "unknown"


def test_the_exported_tower_computes_what_the_whole_model_computes(kit, weights):
    clip = build.load_clip(SMALL, weights.path)
    encoder = kit.encoder("onnxruntime", threads=1)
    batch = np.stack([encoder.prepare(image) for image in canaries.images()])
    rule = kit.manifest.preprocessing
    planes = torch.from_numpy(batch).permute(0, 3, 1, 2).float() / 255
    mean, std = (torch.tensor(values).view(1, 3, 1, 1) for values in (rule.mean, rule.std))
    with torch.inference_mode():
        wanted = clip.encode_image((planes - mean) / std, normalize=True).numpy()
    np.testing.assert_allclose(encoder.embed(batch), wanted, atol=1e-4)


def test_prototypes_are_the_normalised_mean_of_raw_text_embeddings(kit, weights):
    clip = build.load_clip(SMALL, weights.path)
    tokenizer = build.load_tokenizer(SMALL)
    with torch.inference_mode():
        raw = clip.encode_text(tokenizer(sentences("dog"))).mean(0)
    np.testing.assert_allclose(kit.prototypes[1], (raw / raw.norm()).numpy(), atol=1e-6)


def test_a_prompt_typo_or_another_tokenizer_is_another_kit(kit, weights):
    typo = build.build_kit(SMALL, weights, CLASSES, ["a foto of a {class_name}."])
    assert typo.fingerprint[3:] != kit.fingerprint[3:]
    assert typo.manifest.origin.tokenizer_sha256 != kit.manifest.origin.tokenizer_sha256
    assert not dataclasses.replace(kit, prototypes=typo.prototypes).check("onnxruntime").passed


def test_a_tower_that_disagrees_with_torch_is_refused(weights, tmp_path):
    other = random_weights(SMALL, tmp_path / "other.safetensors", seed=1)
    clips = [build.load_clip(SMALL, path) for path in (weights.path, other)]
    rule = build.preprocessing(SMALL, clips[0])
    towers = [build.image_tower(clip, rule) for clip in clips]
    with pytest.raises(ScopeError, match="must agree with torch"):
        build.check_agreement(towers[0], build.export(towers[1], rule.size), rule)


def test_weights_of_another_architecture_are_refused(weights):
    wide = dataclasses.replace(SMALL, architecture={**SMALL.architecture, "embed_dim": 64})
    with pytest.raises(ScopeError, match="must hold the weights"):
        build.load_clip(wide, weights.path)


def test_weights_of_another_hash_are_refused(weights):
    with pytest.raises(ScopeError, match="must have SHA-256"):
        local_weights(weights.path, dataclasses.replace(SMALL, sha256="0" * 64))


@pytest.mark.parametrize("raw", [b"PK\x03\x04torch", b"\x80\x02}q\x00.", b"", b"\xff" * 20])
def test_pickled_weights_are_refused(tmp_path, raw):
    (tmp_path / "weights.safetensors").write_bytes(raw)
    with pytest.raises(ScopeError, match="must be a safetensors file"):
        local_weights(tmp_path / "weights.safetensors", SMALL)


def test_without_the_hub_both_ways_out_are_named(monkeypatch, tmp_path):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path))
    with pytest.raises(ScopeError, match=r"--weights FILE, or use the built-in kit 'offline'"):
        hub_weights(backbone("mobileclip-s2"))


def test_the_preprocessing_is_that_of_the_weights():
    clip = build.new_clip(backbone("mobileclip2-s0"), "meta")
    rule = build.preprocessing(backbone("mobileclip2-s0"), clip)
    assert (rule.size, rule.interpolation) == (256, "bilinear")
    assert (rule.mean, rule.std) == ((0, 0, 0), (1, 1, 1))
    clip = build.new_clip(backbone("datacomp-b32"), "meta")
    rule = build.preprocessing(backbone("datacomp-b32"), clip)
    assert (rule.size, rule.interpolation) == (256, "bicubic")
    assert rule.mean[0] == pytest.approx(0.48145466)


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if entry.megabytes > 1000 else ())
        for name, entry in backbones().items()
        if name != "biomedclip"
    ],
)
def test_every_family_is_constructed_in_its_size(name):
    entry = backbone(name)
    clip = build.new_clip(entry, "meta")
    megabytes = sum(values.numel() for values in clip.parameters()) * 4 / 1e6
    assert megabytes == pytest.approx(entry.megabytes, rel=0.01)
    assert build.preprocessing(entry, clip).size == entry.pixels


def test_biomedclip_s_image_tower_is_constructed_and_its_needs_are_said():
    from scopefl.torchvision_import import import_over_torchvision

    entry = backbone("biomedclip")
    factory = import_over_torchvision("open_clip").model
    with torch.device("meta"):
        visual = factory._build_vision_tower(512, entry.architecture["vision_cfg"])
    assert sum(values.numel() for values in visual.parameters()) == pytest.approx(86.2e6, rel=0.01)
    if import_over_torchvision("open_clip").hf_model.transformers is None:
        with pytest.raises(ScopeError, match=r"needs scopefl\[biomedclip\]"):
            build.new_clip(entry)


def test_biomedclip_is_constructed_in_its_size_once_its_text_s_configuration_is_there(tmp_path):
    pytest.importorskip("transformers")
    bert = {"model_type": "bert", "vocab_size": 30_522, "hidden_size": 768}
    (tmp_path / "config.json").write_text(json.dumps(bert))
    entry = backbone("biomedclip")
    text = {**entry.architecture["text_cfg"], "hf_model_name": str(tmp_path)}
    local = dataclasses.replace(entry, architecture={**entry.architecture, "text_cfg": text})
    with torch.device("meta"):
        clip = build.new_clip(local)
    megabytes = sum(values.numel() for values in clip.parameters()) * 4 / 1e6
    assert megabytes == pytest.approx(entry.megabytes, rel=0.01)
    assert build.preprocessing(local, clip).size == entry.pixels


def test_a_tower_beyond_onnx_s_own_limit_is_refused_in_one_sentence():
    large = torch.nn.Linear(30_000, 30_000, device="meta")
    with pytest.raises(ScopeError, match="to be one ONNX file"):
        build.export(large, 224)


def test_a_large_tower_keeps_its_weights_narrow_and_its_arithmetic_wide(weights, kit, monkeypatch):
    clip = build.load_clip(SMALL, weights.path)
    whole = build.float32_bytes(build.image_tower(clip, kit.manifest.preprocessing))
    monkeypatch.setattr(build, "LARGEST_TOWER", whole - 1)
    narrow = build.build_kit(SMALL, weights, CLASSES)
    assert len(narrow.model) < 0.8 * len(kit.model)
    assert "float16" in narrow.manifest.origin.description
    np.testing.assert_allclose(narrow.canary_rows, kit.canary_rows, atol=2e-3)
    assert narrow.fingerprint != kit.fingerprint


def scope_does(*arguments):
    done = CliRunner().invoke(scope, [str(each) for each in arguments])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.slow
@pytest.mark.timeout(900)  # a minute of work, of which a loaded machine makes many
def test_mobileclip_s2_goes_the_real_way_from_local_weights_to_scores(tmp_path):
    weights = random_weights(backbone("mobileclip-s2"), tmp_path / "random.safetensors")
    (tmp_path / "names.txt").write_text("\n".join(CLASSES))
    (tmp_path / "prompts.txt").write_text("a micrograph of {class_name}.\na {class_name}.\n")
    texts = ("--classes", tmp_path / "names.txt", "--prompts", tmp_path / "prompts.txt")
    said = scope_does("kit", "build", "--weights", weights, *texts, "-o", tmp_path / "kit")
    assert "mobileclip-s2: apple-amlr (research only); 397 MB" in said
    kit = Kit.load(tmp_path / "kit")
    assert kit.prototypes.shape == (3, 512)
    assert kit.manifest.prompts == ("a micrograph of {class_name}.", "a {class_name}.")
    assert (kit.manifest.preprocessing.size, kit.manifest.dim) == (256, 512)
    assert "pass: 16 canaries" in scope_does("kit", "check", tmp_path / "kit")
    for runtime in {"openvino-bf16"} & set(runtimes.available()):
        assert kit.check(runtime).passed
    images = small.folder(tmp_path / "site", per_class=1)
    flags = ("--kit", tmp_path / "kit", "--cache", tmp_path / "cache")
    assert "3 scored" in scope_does("score", images, *flags, "-o", tmp_path / "scores")


def test_an_unknown_backbone_names_the_nearest():
    with pytest.raises(ScopeError, match="did you mean mobileclip-s2"):
        backbone("mobileclip-s3")
