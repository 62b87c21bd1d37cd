"""The bank of filters on pictures whose responses are known: flat ones, ramps, lines, and turned pictures."""

import numpy as np
import pytest

from neuralfactors.vision._filters import N_OF_SCALE, SCALES
from neuralfactors.vision._filters import filter_responses as responses_at
from neuralfactors.vision._region_geometry import CLEAR
from neuralfactors.vision._regions import rgb_to_lab

GRADIENT, RIDGE, VALLEY, EDGE, TEXTURE = range(3, N_OF_SCALE)  # after the colours


def filter_responses(image):
    """Those of all pixels (H, W, D)."""
    pixels = np.arange(image.shape[0] * image.shape[1])
    return responses_at(image, pixels).reshape(*image.shape[:2], -1)


def of_scale(responses, k):
    return np.moveaxis(responses[..., N_OF_SCALE * k : N_OF_SCALE * (k + 1)], -1, 0)


def test_a_flat_picture_has_only_colour():
    image = np.full((40, 50, 3), (90, 120, 30), dtype=np.uint8)
    image[0, 0], image[0, 1] = 0, 255  # so that its range is the full one
    responses = filter_responses(image)[30:, 30:]
    expected = rgb_to_lab(image)[:, 35, 35] / CLEAR
    for k in range(2):  # the coarser scales see the corner
        found = of_scale(responses, k)
        np.testing.assert_allclose(found[:3], np.broadcast_to(expected[:, None, None], found[:3].shape), atol=1e-4)
        np.testing.assert_allclose(found[3:], 0, atol=1e-3)


def test_of_a_ramp_the_gradient_is_its_slope_times_the_scale():
    image = np.repeat(np.repeat(np.arange(0, 240, 2, dtype=np.uint8)[None, :, None], 60, axis=0), 3, axis=2)
    slope = np.gradient(rgb_to_lab(image)[0] / CLEAR, axis=1)[30, 60]
    for k, scale in enumerate(SCALES[:3]):
        found = of_scale(filter_responses(image), k)[:, 30, 60]
        assert found[GRADIENT] == pytest.approx(scale * slope, rel=0.05)
        assert found[EDGE] == pytest.approx(found[GRADIENT], rel=0.05)  # one direction only
        assert abs(found[TEXTURE]) < 0.05 * found[EDGE] + 1e-3


@pytest.mark.parametrize("across", [False, True])
def test_dark_lines_are_ridges_of_the_hessian(across):
    image = np.full((60, 60, 3), 200, dtype=np.uint8)
    image[29:32] = 40
    image = image.transpose(1, 0, 2) if across else image
    found = of_scale(filter_responses(np.ascontiguousarray(image)), 1)
    assert found[RIDGE, 30, 30] > 5 * abs(found[VALLEY, 30, 30])
    assert found[RIDGE, 30, 30] > 5 * np.abs(found[RIDGE, 10, 10])


def test_a_turned_picture_has_turned_responses():
    image = np.random.default_rng(0).integers(0, 256, (40, 56, 3), dtype=np.uint8)
    turned = np.ascontiguousarray(np.rot90(image))
    np.testing.assert_allclose(filter_responses(turned), np.rot90(filter_responses(image)), atol=2e-3)


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (2, 3), (17, 5)])
def test_small_pictures_have_finite_responses(shape):
    image = np.random.default_rng(1).integers(0, 256, (*shape, 3), dtype=np.uint8)
    assert np.isfinite(filter_responses(image)).all()


def test_some_pixels_have_the_responses_that_they_have_among_all():
    image = np.random.default_rng(2).integers(0, 256, (31, 23, 3), dtype=np.uint8)
    some = np.array([700, 0, 45])
    np.testing.assert_array_equal(responses_at(image, some), filter_responses(image).reshape(31 * 23, -1)[some])
