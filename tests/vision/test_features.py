"""Features of regions and edges: of what size, by counting, and of odd pictures."""

from dataclasses import replace

import numpy as np
import pytest
from pictures import FEW_WORDS, IMAGES, Pyramid, smooth_picture

from neuralfactors.vision import FeatureBuilder, FeatureSettings, WordSettings, majority_labels, region_edges
from neuralfactors.vision._descriptors import dense_daisy, hsv_cone
from neuralfactors.vision._region_geometry import region_medians


def test_the_papers_sizes():
    built = FeatureBuilder().fit(IMAGES).transform(IMAGES[0])
    assert built.graph.node_features.shape[1] == 60 + 30
    assert built.graph.edge_features.shape[1] == 2 * (10 + 5) + 2


def test_features_by_counting():
    builder = FeatureBuilder(replace(FEW_WORDS, words=replace(FEW_WORDS.words, softness=0.0))).fit(IMAGES)
    built = builder.transform(IMAGES[0])
    regions, words = built.regions, builder.words_
    np.testing.assert_array_equal(built.graph.edges, region_edges(regions))
    lattice, cone = dense_daisy(IMAGES[0], radius=FEW_WORDS.words.radius), hsv_cone(IMAGES[0])
    expected = np.zeros((regions.max() + 1, 8 + 6))
    for y, x in np.ndindex(regions.shape):
        gradient = np.linalg.norm(words["node_gradient"] - lattice[y // 4, x // 4], axis=1).argmin()
        colour = np.linalg.norm(words["node_colour"] - cone[y, x], axis=1).argmin()
        expected[regions[y, x], [gradient, 8 + colour]] += 1
    expected = np.sqrt(expected / np.bincount(regions.ravel())[:, None])
    np.testing.assert_allclose(built.graph.node_features, expected, atol=1e-6)


def test_edge_features_are_both_ends_distance_and_angle(builder):
    built = builder.transform(IMAGES[0])
    features_of_edges, edges = built.graph.edge_features, built.graph.edges
    assert features_of_edges.shape[1] == 2 * (4 + 3) + 2
    first, second = features_of_edges[:, :7], features_of_edges[:, 7:14]
    np.testing.assert_allclose((first[:, :4] ** 2).sum(axis=1), 1, rtol=1e-5)
    for node in range(built.graph.n_nodes):  # a node looks the same from all its edges
        seen = np.concatenate([first[edges[:, 0] == node], second[edges[:, 1] == node]])
        assert len(np.unique(seen, axis=0)) == 1
    assert features_of_edges[:, 14].min() > 0
    assert 0 <= features_of_edges[:, 15].min() <= features_of_edges[:, 15].max() <= np.float32(np.pi)


def test_shares_instead_of_roots():
    built = (
        FeatureBuilder(FeatureSettings.of(FEW_WORDS.to_dict() | {"words__root": False}))
        .fit(IMAGES)
        .transform(IMAGES[0])
    )
    np.testing.assert_allclose(built.graph.node_features[:, :8].sum(axis=1), 1, rtol=1e-5)


def test_the_second_setting():
    words = WordSettings(node_words=(8, 6), edge_words=(4, 3))
    fine = {"min_area": 0.5, "position": True, "boundaries": False}
    settings = FeatureSettings("bow+cnn", n_regions=60, words=words, **fine)
    built = FeatureBuilder(settings, backbone=Pyramid()).fit(IMAGES).transform(IMAGES[0])
    n_words, n_maps, n_windows = 8 + 6, 5 + 10, 2 * 10
    assert built.graph.node_features.shape[1] == n_words + n_maps + n_windows + 2
    np.testing.assert_allclose(
        built.graph.node_features[:, -2:], region_medians(built.regions) / built.regions.shape, rtol=1e-6
    )
    assert np.bincount(built.regions.ravel()).min() >= 0.5 * built.regions.size / 60


def test_cnn_features_alone():
    settings = FeatureSettings(**FEW_WORDS.to_dict() | {"features": "cnn", "cnn": {"maps": 1, "surroundings": ()}})
    built = FeatureBuilder(settings, backbone=Pyramid()).fit(IMAGES).transform(IMAGES[0])
    assert built.graph.node_features.shape[1] == 10
    assert built.graph.edge_features.shape[1] == 2 * (4 + 3) + 2 + 2


def test_a_large_image_is_reduced_and_painted_at_full_size():
    settings = FeatureSettings(**FEW_WORDS.to_dict() | {"max_side": 25})
    built = FeatureBuilder(settings).fit(IMAGES).transform(IMAGES[0])
    assert built.regions.shape == (20, 25)
    assert built.areas.sum() == 40 * 50
    y = np.arange(built.graph.n_nodes) % 3
    assert built.paint(y).shape == (40, 50)
    np.testing.assert_array_equal(majority_labels(built.full_regions, built.paint(y)), y)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (7, 9)])
def test_tiny_and_flat_pictures(shape):
    flat = np.full((*shape, 3), 200, dtype=np.uint8)
    builder = FeatureBuilder(FEW_WORDS).fit([flat])
    for picture in (flat, IMAGES[0], smooth_picture(shape)):
        built = builder.transform(picture)
        assert built.paint(np.zeros(built.graph.n_nodes)).shape == picture.shape[:2]
