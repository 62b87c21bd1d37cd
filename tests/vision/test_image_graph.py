"""Graphs of images: labels of pixels to labels of regions and back."""

import numpy as np
from pictures import IMAGES, assert_same_graphs

from neuralfactors.vision import ImageGraph, majority_labels


def test_labels_of_regions_and_back(builder):
    built = builder.transform(IMAGES[0])
    y = np.arange(built.graph.n_nodes) % 3
    np.testing.assert_array_equal(majority_labels(built.full_regions, built.paint(y)), y)
    assert built.areas.sum() == 40 * 50


def test_labels_are_counted_by_region_and_void_comes_last(builder):
    built = builder.transform(IMAGES[0])
    labels = np.random.default_rng(0).integers(-1, 3, built.shape)
    counts = built.label_counts(labels)
    for node, row in enumerate(counts):
        inside = labels[built.full_regions == node]
        assert row.tolist() == [*((inside == k).sum() for k in range(labels.max() + 1)), (inside == -1).sum()]
    np.testing.assert_array_equal(counts.sum(axis=1), built.areas)


def test_void_regions_have_no_label(builder):
    built = builder.transform(IMAGES[0])
    labels = np.zeros(built.shape, dtype=int)
    labels[built.full_regions == 2] = -1
    assert np.flatnonzero(majority_labels(built.full_regions, labels) == -1).tolist() == [2]


def test_it_comes_back_from_its_arrays(builder):
    built = builder.transform(IMAGES[1])
    assert_same_graphs(ImageGraph.from_arrays(built.to_arrays()), built)


def test_values_of_regions_may_be_arrays(builder):
    built = builder.transform(IMAGES[0])
    colours = np.arange(3 * built.graph.n_nodes).reshape(-1, 3)
    painted = built.paint(colours)
    assert painted.shape == (*built.shape, 3)
    np.testing.assert_array_equal(painted, colours[built.full_regions])
