import numpy as np
import pytest
from pictures import smooth_picture
from skimage.color import rgb2gray, rgb2hsv
from skimage.feature import daisy as reference_daisy

from neuralfactors.vision import _descriptors as descriptors
from neuralfactors.vision._descriptors import daisy, dense_daisy, hsv_cone, to_grey


@pytest.mark.parametrize(
    "options", [{}, {"stride": 3, "radius": 8}, {"stride": 5, "radius": 9, "rings": 2, "petals": 6}]
)
@pytest.mark.parametrize("strip", [3, 128])
def test_daisy_is_that_of_scikit_image(monkeypatch, options, strip):
    monkeypatch.setattr(descriptors, "STRIP", strip)
    grey = np.random.default_rng(0).random((70, 61)).astype(np.float32)
    names = {"stride": "step", "petals": "histograms"}
    expected = reference_daisy(grey.astype(float), **{names.get(k, k): v for k, v in options.items()})
    np.testing.assert_allclose(daisy(grey, **options), expected, rtol=2e-4, atol=1e-7)


def test_a_flat_patch_has_the_uniform_descriptor():
    np.testing.assert_allclose(daisy(np.full((40, 40), 0.5, dtype=np.float32), radius=8), 1 / 200, rtol=1e-5)


def test_an_image_smaller_than_the_descriptor_has_none():
    assert daisy(np.zeros((20, 50), dtype=np.float32), radius=15).shape == (0, 5, 200)


@pytest.mark.parametrize("shape", [(1, 1), (3, 50), (20, 20), (21, 30)])
@pytest.mark.parametrize(("stride", "radius"), [(4, 8), (7, 3), (1, 5)])
def test_every_cell_has_a_descriptor(shape, stride, radius):
    described = dense_daisy(smooth_picture(shape), stride=stride, radius=radius)
    assert described.shape == (-(-shape[0] // stride), -(-shape[1] // stride), 200)
    np.testing.assert_allclose(described.sum(axis=2), 1, rtol=1e-5)


def test_a_cell_is_described_at_its_middle():
    image = smooth_picture((64, 64))
    inner = daisy(to_grey(image), stride=4, radius=6)  # at 6 + 4 (i, j), where cells have their middles at 2 + 4 (i, j)
    np.testing.assert_allclose(dense_daisy(image, stride=4, radius=6)[6:9, 6:9], inner[5:8, 5:8], rtol=1e-4)


def test_grey_is_that_of_scikit_image():
    image = smooth_picture()
    np.testing.assert_allclose(to_grey(image), rgb2gray(image), atol=1e-6)


def test_cone_is_hsv():
    colours = np.random.default_rng(0).integers(0, 256, (40, 50, 3), dtype=np.uint8)
    colours[0, :3] = [[0, 0, 0], [255, 255, 255], [9, 9, 9]]
    hue, saturation, value = np.moveaxis(rgb2hsv(colours), 2, 0)
    turn = 2 * np.pi * hue
    expected = np.stack([saturation * np.cos(turn), saturation * np.sin(turn), value / 2], axis=2)
    np.testing.assert_allclose(hsv_cone(colours), expected, atol=1e-6)


def test_reds_on_both_sides_of_hue_zero_are_near():
    cone = hsv_cone(np.array([[[200, 10, 0], [200, 0, 10]]], dtype=np.uint8))
    assert np.linalg.norm(cone[0, 0] - cone[0, 1]) < 0.2
