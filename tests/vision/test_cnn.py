import numpy as np
import pytest
import torch
from pictures import Pyramid, random_regions, smooth_picture
from torch.nn.functional import interpolate

from neuralfactors.vision._cnn import feature_maps, likeness, region_means, window_means


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
