import numpy as np
import pytest
from pictures import smooth_picture
from scipy.ndimage import label as connected_parts
from skimage.color import rgb2lab
from skimage.segmentation import slic as reference_slic

from neuralfactors.vision import find_regions
from neuralfactors.vision._region_geometry import region_areas, region_centres
from neuralfactors.vision._regions import merge_alike, merge_small, number_from_top, rgb_to_lab, slic


def assert_regions(regions):
    """Numbered without gaps, each connected."""
    assert set(np.unique(regions)) == set(range(regions.max() + 1))
    for region in range(regions.max() + 1):
        assert connected_parts(regions == region)[1] == 1


@pytest.mark.parametrize("shape", [(60, 80), (3, 200), (200, 3), (1, 50), (17, 31), (5, 5), (1, 1)])
@pytest.mark.parametrize("n_regions", [1, 10, 40, 300])
def test_slic_is_that_of_scikit_image(shape, n_regions):
    image = smooth_picture(shape)
    expected = reference_slic(image, n_regions, 30.0, start_label=0)
    np.testing.assert_array_equal(slic(image, n_regions), expected)


@pytest.mark.parametrize("compactness", [3.0, 10.0, 100.0])
def test_slic_is_that_of_scikit_image_for_other_compactness(compactness):
    image = smooth_picture((70, 90), seed=1, sigma=1.0)
    expected = reference_slic(image, 60, compactness, start_label=0)
    agreement = (slic(image, 60, compactness=compactness) == expected).mean()
    assert agreement > 0.999  # a tie that rounding settles otherwise moves a few pixels


def test_lab_is_that_of_scikit_image():
    image = smooth_picture()
    stretched = (image - image.min()) / (image.max() - image.min())
    np.testing.assert_allclose(rgb_to_lab(image), np.moveaxis(rgb2lab(stretched), 2, 0), atol=2e-4)


@pytest.mark.parametrize(
    "image",
    [
        smooth_picture((90, 120)),
        np.full((40, 50, 3), 77, dtype=np.uint8),  # one colour
        np.random.default_rng(0).integers(0, 256, (50, 60, 3), dtype=np.uint8),  # nothing but noise
        np.zeros((1, 1, 3), dtype=np.uint8),
    ],
    ids=["spots", "flat", "noise", "pixel"],
)
@pytest.mark.parametrize("min_area", [0.0, 0.6])
def test_regions_are_connected_and_numbered(image, min_area):
    regions = find_regions(image, 50, compactness=10.0, min_area=min_area)
    assert regions.shape == image.shape[:2]
    assert_regions(regions)


def test_about_as_many_regions_as_asked_for():
    counts = [find_regions(smooth_picture((213, 320), seed), 300).max() + 1 for seed in range(3)]
    assert all(260 <= count <= 330 for count in counts)


def test_merging_leaves_no_small_region():
    image = smooth_picture((60, 80), sigma=1.0)
    before = slic(image, 200, compactness=2.0)
    after = merge_small(image, before, min_area=25)
    assert region_areas(before).min() < 25 <= region_areas(after).min()
    assert_regions(after)
    for region in range(after.max() + 1):  # a region is a union of former ones
        former = np.unique(before[after == region])
        assert np.isin(before, former).sum() == (after == region).sum()


def test_regions_that_are_alike_are_merged():
    image = smooth_picture((60, 80), sigma=3.0)
    before = slic(image, 200)
    after = merge_alike(image, before, 50)
    assert after.max() + 1 == 50
    assert_regions(after)
    for region in range(50):  # a region is a union of former ones
        former = np.unique(before[after == region])
        assert np.isin(before, former).sum() == (after == region).sum()
    assert region_areas(after).max() <= 8 * before.size / 50


def test_a_thin_line_keeps_regions_of_its_own():
    image = np.full((90, 120, 3), 90, dtype=np.uint8)
    image[:, 60:65] = 220
    line = image[..., 0] == 220

    def impurity(regions):
        bright = np.bincount(regions.ravel(), line.ravel()) / region_areas(regions)
        return np.minimum(bright, 1 - bright) @ region_areas(regions) / line.sum()

    assert impurity(find_regions(image, 60, merge_from=4)) < 0.5 * impurity(find_regions(image, 60))


def test_merged_regions_are_as_many_as_asked_for():
    image = smooth_picture((60, 80))
    assert_regions(find_regions(image, 40, merge_from=4))
    assert find_regions(image, 40, merge_from=4).max() + 1 == 40
    assert merge_alike(image, np.zeros((60, 80), np.int32), 3).max() == 0  # there are fewer


def test_merging_goes_to_the_most_similar_neighbour():
    image = np.zeros((4, 9, 3), dtype=np.uint8)
    image[:, :4], image[:, 4:5], image[:, 5:] = 10, 60, 250
    regions = np.repeat([[0] * 4 + [1] + [2] * 4], 4, axis=0).astype(np.int32)
    np.testing.assert_array_equal(merge_small(image, regions, 5), [[0] * 5 + [1] * 4] * 4)


def test_a_region_without_neighbours_stays():
    image = smooth_picture((4, 4))
    assert merge_small(image, np.zeros((4, 4), dtype=np.int32), 100).max() == 0


def test_regions_are_numbered_from_top_to_bottom():
    regions = number_from_top(slic(smooth_picture((60, 80)), 40))
    assert (np.diff(region_centres(regions)[:, 0]) >= 0).all()


@pytest.mark.parametrize(
    ("image", "got"),
    [
        (np.zeros((4, 4), dtype=np.uint8), "uint8 of shape \\(4, 4\\)"),
        (np.zeros((4, 4, 4), dtype=np.uint8), "uint8 of shape \\(4, 4, 4\\)"),
        (np.zeros((4, 4, 3)), "float64 of shape \\(4, 4, 3\\)"),
        (np.zeros((0, 4, 3), dtype=np.uint8), "uint8 of shape \\(0, 4, 3\\)"),
    ],
)
def test_what_is_not_an_image_is_refused(image, got):
    with pytest.raises(ValueError, match=f"image must be uint8 of shape \\(H, W, 3\\), got {got}"):
        find_regions(image)


def test_wrong_options_are_refused():
    with pytest.raises(ValueError, match="n_regions must be at least 1, got 0"):
        slic(smooth_picture((4, 4)), 0)
    with pytest.raises(ValueError, match=r"compactness must be positive, got 0\.0"):
        slic(smooth_picture((4, 4)), 4, compactness=0.0)
