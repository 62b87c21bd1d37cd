"""Pictures for tests of vision and datasets, and a small network to look at them."""

import numpy as np
import torch
from scipy.ndimage import gaussian_filter
from torch import nn

from neuralfactors.vision import FeatureSettings, WordSettings

FEW_WORDS = FeatureSettings(n_regions=20, words=WordSettings(node_words=(8, 6), edge_words=(4, 3)))


def smooth_picture(shape=(60, 80), seed=0, sigma=2.0):
    """A picture (H, W, 3) of soft coloured spots, in which no two distances tie."""
    noise = np.random.default_rng(seed).normal(size=(*shape, 3))
    soft = gaussian_filter(noise, (sigma, sigma, 0))
    soft -= soft.min()
    return np.rint(soft / max(soft.max(), 1e-12) * 255).astype(np.uint8)


def random_regions(shape=(12, 15), n_regions=9, seed=0):
    """Regions (H, W), each with a pixel or more, not connected."""
    rng = np.random.default_rng(seed)
    regions = rng.integers(n_regions, size=shape).astype(np.int32)
    regions.ravel()[rng.permutation(regions.size)[:n_regions]] = np.arange(n_regions)
    return regions


class Pyramid(nn.Module):
    """A network of two maps, at strides 2 and 4."""

    def __init__(self, channels=5):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, channels, 3, stride=2, padding=1)
        self.second = nn.Conv2d(channels, 2 * channels, 3, stride=2, padding=1)

    def forward(self, images):
        fine = self.first(images)
        return [fine, self.second(fine)]


IMAGES = [smooth_picture((40, 50), seed) for seed in range(4)]


def assert_same_graphs(one, two):
    """The graphs of two images agree in every array."""
    for name, array in one.to_arrays().items():
        np.testing.assert_array_equal(array, two.to_arrays()[name])
