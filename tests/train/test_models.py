import pytest
import torch
from safetensors.torch import save_file

from scopefl.errors import ScopeError
from scopefl.torchvision_import import import_over_torchvision
from scopefl.train.models import NAMES, build

pytestmark = pytest.mark.slow  # torch and open_clip take seconds to import and build

# Parameters with 10 classes: published sizes less the ImageNet head plus ours.
SIZES = {
    "cnn": 57_130,
    "resnet18": 11_173_962,
    "resnet50": 23_528_522,
    "vit_b_16": 85_806_346,
    "vit_tiny": 5_526_346,
    "deit_tiny": 5_526_346,
    "swin_t": 27_527_044,
    "efficientnet_v2_s": 20_190_298,
    "efficientnet_v2_m": 52_871_166,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_name_gives_a_network_of_the_published_size(name):
    with torch.device("meta"):
        net = build(name, 10, image_size=32 if name == "resnet18" else 224)
    assert sum(each.numel() for each in net.parameters()) == SIZES[name]


def test_resnet18_keeps_the_resolution_of_small_images():
    small = build("resnet18", 10, image_size=32).forward_features(torch.zeros(1, 3, 32, 32))
    large = build("resnet18", 10, image_size=128).forward_features(torch.zeros(1, 3, 128, 128))
    assert small.shape == large.shape == (1, 512, 4, 4)


def test_an_unknown_model_is_answered_with_those_there_are():
    with pytest.raises(ScopeError, match=r"one of cnn, resnet18, .* got 'alexnet'"):
        build("alexnet", 10, image_size=32)


def test_pretrained_weights_keep_the_body_and_get_a_new_head(tmp_path):
    published = import_over_torchvision("timm").create_model("vit_tiny_patch16_224", img_size=32)
    file = tmp_path / "weights.safetensors"
    save_file(published.state_dict(), file)
    net = build("vit_tiny", 3, image_size=32, pretrained=file)
    assert torch.equal(net.blocks[0].attn.qkv.weight, published.blocks[0].attn.qkv.weight)
    assert net.get_classifier().weight.shape == (3, 192)


def test_weights_that_could_run_code_or_are_not_there_are_refused(tmp_path):
    (tmp_path / "weights.pth").write_bytes(b"")
    for name in ("weights.pth", "missing.safetensors"):
        with pytest.raises(ScopeError, match=r"a \.safetensors file of timm's resnet18"):
            build("resnet18", 10, image_size=32, pretrained=tmp_path / name)
    with pytest.raises(ScopeError, match="no pretrained weights for cnn"):
        build("cnn", 10, image_size=32, pretrained=tmp_path / "weights.pth")
