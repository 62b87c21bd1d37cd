"""Graphs of images: labels of pixels to labels of regions and back."""

import numpy as np
from pictures import IMAGES


def test_labels_of_regions_and_back(builder):
    built = builder.transform(IMAGES[0])
    y = np.arange(built.graph.n_nodes) % 3
    np.testing.assert_array_equal(built.node_labels(built.paint(y)), y)
    assert built.areas.sum() == 40 * 50
