import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import random_regions, smooth_picture
from skimage.graph import RAG

from neuralfactors.vision import find_regions, majority_labels, paint, region_edges
from neuralfactors.vision._region_geometry import (
    boundary_features,
    edge_geometry,
    enlarge,
    region_areas,
    region_centres,
    region_medians,
)


def brute_force_edges(regions):
    """Pairs of regions with two pixels side by side, pixel by pixel."""
    pairs = set()
    height, width = regions.shape
    for y in range(height):
        for x in range(width):
            for v, u in ((y, x + 1), (y + 1, x)):
                if v < height and u < width and regions[y, x] != regions[v, u]:
                    pairs.add(tuple(sorted((int(regions[y, x]), int(regions[v, u])))))
    return sorted(pairs)


@given(seed=st.integers(0, 2**16), height=st.integers(1, 8), width=st.integers(1, 8))
def test_edges_by_brute_force(seed, height, width):
    regions = random_regions((height, width), min(5, height * width), seed)
    assert [tuple(edge) for edge in region_edges(regions).tolist()] == brute_force_edges(regions)


def test_edges_are_those_of_scikit_image():
    regions = find_regions(smooth_picture(), 40)
    expected = sorted(tuple(sorted(edge)) for edge in RAG(regions, connectivity=1).edges)
    assert [tuple(edge) for edge in region_edges(regions).tolist()] == expected


def test_one_region_has_no_edge():
    assert region_edges(np.zeros((3, 4), dtype=np.int32)).shape == (0, 2)


@given(seed=st.integers(0, 2**16))
def test_areas_centres_and_medians_by_counting(seed):
    regions = random_regions(seed=seed)
    for region in range(regions.max() + 1):
        rows, columns = np.nonzero(regions == region)
        assert region_areas(regions)[region] == len(rows)
        np.testing.assert_allclose(region_centres(regions)[region], [rows.mean(), columns.mean()])
        middle = (len(rows) - 1) // 2
        assert region_medians(regions)[region].tolist() == [np.sort(rows)[middle], np.sort(columns)[middle]]


def test_geometry_of_edges():
    centres = np.array([[0.0, 0.0], [0.0, 4.0], [3.0, 0.0], [3.0, 4.0]])
    edges = np.array([[0, 1], [0, 2], [0, 3], [1, 0]])
    distance, angle = edge_geometry(edges, centres, spacing=2.0).T
    np.testing.assert_allclose(distance, [2, 1.5, 2.5, 2])
    np.testing.assert_allclose(angle, [0, np.pi / 2, np.arctan2(3, 4), np.pi], rtol=1e-6)


def test_edges_of_found_regions_point_down():
    regions = find_regions(smooth_picture(), 40)
    angle = edge_geometry(region_edges(regions), region_centres(regions), 1.0)[:, 1]
    assert angle.min() >= 0
    assert angle.max() <= np.float32(np.pi)


@given(seed=st.integers(0, 2**16))
def test_majority_by_counting(seed):
    regions = random_regions(seed=seed)
    labels = np.random.default_rng(seed).integers(-1, 3, size=regions.shape)
    for region, winner in enumerate(majority_labels(regions, labels)):
        counts = {label: int((labels[regions == region] == label).sum()) for label in (0, 1, 2, -1)}
        assert winner == max(counts, key=counts.get)  # the first of equals: void comes last


@given(seed=st.integers(0, 2**16))
def test_painting_back_is_the_inverse_of_majority(seed):
    regions = random_regions(seed=seed)
    y = np.random.default_rng(seed).integers(-1, 5, size=regions.max() + 1)
    np.testing.assert_array_equal(majority_labels(regions, paint(regions, y)), y)


def test_all_void():
    regions = random_regions()
    assert (majority_labels(regions, np.full(regions.shape, -1)) == -1).all()


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64, bool])
def test_labels_of_unsigned_types(dtype):
    regions = random_regions()
    labels = (regions % 2).astype(dtype)
    np.testing.assert_array_equal(majority_labels(regions, labels), np.arange(regions.max() + 1) % 2)


def test_what_is_no_label_is_refused():
    regions = random_regions()
    with pytest.raises(ValueError, match=r"labels must be 0, 1, ..., or −1 for void, got -2"):
        majority_labels(regions, np.full(regions.shape, -2))
    with pytest.raises(TypeError, match="Cannot cast"):
        majority_labels(regions, np.zeros(regions.shape))


def test_wrong_shapes_are_refused():
    regions = random_regions((4, 5), 3)
    with pytest.raises(ValueError, match=r"labels must have the shape of the image, \(4, 5\), got \(5, 4\)"):
        majority_labels(regions, np.zeros((5, 4), dtype=int))
    with pytest.raises(ValueError, match="values needs one entry per region: expected 3, got 2"):
        paint(regions, np.zeros(2))


def test_enlarging_repeats_pixels():
    regions = np.arange(6, dtype=np.int32).reshape(2, 3)
    np.testing.assert_array_equal(enlarge(regions, (4, 9)), regions.repeat(2, axis=0).repeat(3, axis=1))
    assert enlarge(regions, (2, 3)) is regions
    assert set(enlarge(regions, (5, 7)).ravel()) == set(range(6))


def test_boundaries_counted_by_hand():
    regions = np.array([[0, 0, 1], [0, 2, 1]], dtype=np.int32)
    lab = np.zeros((3, 2, 3))
    lab[0] = [[0, 0, 30], [0, 40, 30]]
    lab[1, 1, 1] = 3
    found = boundary_features(regions, region_edges(regions), lab)
    contrast_02 = np.hypot(40, 3)  # both sides of their boundary
    expected = [
        [0, 1 / np.sqrt(2), np.log1p(30), np.exp(-3), np.log1p(30), np.exp(-3), np.log(2), np.log(3)],
        [np.log(2), 2, np.log1p(contrast_02), np.exp(-contrast_02 / 10)],
        [0, 1, np.log1p(np.hypot(10, 3)), np.exp(-np.hypot(10, 3) / 10)],
    ]
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-5)
    np.testing.assert_allclose(found[1, :4], expected[1], rtol=1e-5)
    np.testing.assert_allclose(found[2, :4], expected[2], rtol=1e-5)


@given(seed=st.integers(0, 2**16), height=st.integers(1, 8), width=st.integers(2, 8))
def test_boundaries_are_in_the_order_of_edges(seed, height, width):
    regions = random_regions((height, width), 2, seed)
    edges = region_edges(regions)
    found = boundary_features(regions, edges, np.zeros((3, height, width)))
    assert found.shape == (len(edges), 8)
    for (i, j), row in zip(edges, found, strict=True):
        pairs = (regions[:, :-1], regions[:, 1:]), (regions[:-1], regions[1:])
        length = sum(int((((a == i) & (b == j)) | ((a == j) & (b == i))).sum()) for a, b in pairs)
        assert row[0] == pytest.approx(np.log(length), abs=1e-6)
