"""Features that users have computed, against means taken region by region."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import random_regions

from neuralfactors.vision._channels import check_picture
from neuralfactors.vision._own_features import check_features, features_of_regions
from neuralfactors.vision._region_geometry import enlarge
from neuralfactors.vision._regions import adopt_regions

REGIONS = random_regions((12, 15), 9)
GRID = np.random.default_rng(1).normal(size=(12, 15, 4)).astype(np.float32)


def test_pixels_are_averaged_over_regions():
    found = features_of_regions(GRID, REGIONS, (12, 15), None)
    expected = [GRID[region == REGIONS].mean(axis=0) for region in range(9)]
    np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_reduced_image_still_has_features_of_all_its_pixels():
    full = np.repeat(np.repeat(GRID, 2, axis=0), 2, axis=1)
    found = features_of_regions(full, REGIONS, (24, 30), None)
    np.testing.assert_allclose(found, features_of_regions(GRID, REGIONS, (12, 15), None), atol=1e-6)


def test_a_coarser_grid_is_interpolated():
    flat = features_of_regions(np.full((4, 5, 2), 3.0, dtype=np.float32), REGIONS, (12, 15), None)
    np.testing.assert_allclose(flat, 3.0, rtol=1e-6)
    rising = np.broadcast_to(np.arange(4.0, dtype=np.float32)[:, None, None], (4, 5, 1))
    rows = features_of_regions(rising, np.repeat(np.arange(12, dtype=np.int32)[:, None], 15, axis=1), (12, 15), None)
    assert (np.diff(rows[:, 0]) >= 0).all()


def test_rows_are_those_of_the_regions_in_the_order_of_their_numbers():
    names = np.array([7, -3, 40, 41, 5, 1000, 2, 3, 9])
    rows = np.arange(9.0, dtype=np.float32)[:, None]
    found = features_of_regions(rows, REGIONS, (12, 15), names[REGIONS])
    np.testing.assert_array_equal(found[:, 0], np.argsort(np.argsort(names)))


def test_a_region_that_is_lost_by_reduction_takes_its_row_with_it():
    own = np.zeros((8, 8), dtype=int)
    own[:, 4:] = 2
    own[7, 7] = 1  # not among the pixels that are left
    regions = np.repeat([[0, 1]], 2, axis=0).astype(np.int32)
    found = features_of_regions(np.array([[10.0], [11.0], [12.0]], dtype=np.float32), regions, (8, 8), own)
    assert found[:, 0].tolist() == [10.0, 12.0]


@pytest.mark.parametrize("shape", [(13, 15), (12, 16), (24, 30), (6, 12), (6, 3)])
def test_a_grid_of_another_picture_is_refused(shape):
    if shape == (12, 16):
        shape = (12, 17)  # one column more would pass for a coarser grid
    with pytest.raises(ValueError, match="must have the image's size or be a coarser grid of it; they are"):
        features_of_regions(np.zeros((*shape, 2), dtype=np.float32), REGIONS, (12, 15), None)


def test_rows_need_regions_and_must_be_as_many():
    with pytest.raises(ValueError, match="are those of regions, but the regions are found"):
        features_of_regions(np.zeros((9, 2), dtype=np.float32), REGIONS, (12, 15), None)
    with pytest.raises(ValueError, match="there are 9 regions, but features for 8"):
        features_of_regions(np.zeros((8, 2), dtype=np.float32), REGIONS, (12, 15), REGIONS)


@pytest.mark.parametrize("dtype", [np.float64, np.float16, np.uint8, bool])
def test_numbers_of_any_type_become_float32(dtype):
    assert check_features(np.ones((3, 2), dtype=dtype)).dtype == np.float32


@pytest.mark.parametrize(
    "given", [np.zeros(3), np.zeros((0, 2)), np.array([["a"]]), np.zeros((2, 2), complex), [[None]]]
)
def test_others_are_refused(given):
    with pytest.raises(ValueError, match=r"features must be numbers of shape \(regions, D\) or \(H, W, D\), got"):
        check_features(given)


@given(seed=st.integers(0, 2**16), start=st.integers(-50, 50))
def test_the_numbers_of_regions_matter_by_their_order_only(seed, start):
    rng = np.random.default_rng(seed)
    own = random_regions((12, 15), 9, seed)
    rows, numbers = rng.normal(size=(9, 3)).astype(np.float32), start + np.cumsum(rng.integers(1, 9, size=9))
    reduced = adopt_regions(own, (12, 15), (6, 8))
    found = features_of_regions(rows, reduced, (12, 15), own)
    assert (adopt_regions(numbers[own], (12, 15), (6, 8)) == reduced).all()
    np.testing.assert_array_equal(features_of_regions(rows, reduced, (12, 15), numbers[own]), found)
    shown = enlarge(own, (6, 8))
    np.testing.assert_array_equal(found[reduced], rows[shown])  # every pixel has the row of the region that it is from


def test_masked_pixels_are_refused():
    hidden = np.ma.masked_equal(np.arange(12).reshape(3, 4), 5)
    with pytest.raises(ValueError, match="features must not have masked entries: fill them, with numbers that"):
        check_features(hidden)
    with pytest.raises(ValueError, match="regions must not have masked entries: fill them, with the number of"):
        adopt_regions(hidden, (3, 4), (3, 4))
    with pytest.raises(ValueError, match="image must not have masked entries: fill them, with values that may count"):
        check_picture(hidden.astype(np.uint8))
    assert check_picture(np.ma.array(np.ones((3, 4), np.uint8))).shape == (3, 4, 3)  # a mask that hides nothing


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_what_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="features must be finite numbers"):
        check_features(np.array([[0.0, value]]))
