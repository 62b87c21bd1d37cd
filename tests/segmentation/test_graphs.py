"""Labelled graphs: scaling, weights by area, class weights, memory."""

import numpy as np
import pytest

from neuralfactors.segmentation._graphs import ScaledGraphs


def test_features_of_the_training_graphs_are_standardised(described):
    _, train = described
    for rows in (
        np.concatenate([g.node_features for g in train.X]),
        np.concatenate([g.edge_features for g in train.X]),
    ):
        varied = rows.std(axis=0) > 1e-3
        assert varied.sum() > 10
        np.testing.assert_allclose(rows.mean(axis=0), 0, atol=1e-4)
        np.testing.assert_allclose(rows[:, varied].std(axis=0), 1, atol=1e-3)


def test_regions_weigh_their_area(described):
    _, train = described
    image, graph = train.images[0], train.X[0]
    areas = np.array([(image.full_regions == i).sum() for i in range(graph.n_nodes)])
    np.testing.assert_allclose(graph.node_weight, areas / areas.mean(), rtol=1e-6)


def test_what_does_not_fit_in_memory_is_made_again(described):
    describer, train = described
    tight = ScaledGraphs(train.images, describer.scaling, seen={})
    assert tight[1] is not tight[1]
    assert train.X[1] is train.X[1]
    np.testing.assert_array_equal(tight[1].node_features, train.X[1].node_features)
    assert [graph.n_nodes for graph in tight[1:3]] == [train.X[1].n_nodes, train.X[2].n_nodes]


@pytest.mark.parametrize("balance", [0.5, 1.0])
def test_class_weights(described, balance):
    describer, train = described
    weights = train.class_weight(describer.n_labels + 1, balance)
    areas = np.zeros(describer.n_labels + 1)
    for graph, y in zip(train.X, train.Y, strict=True):
        for label, area in zip(y, graph.node_weight, strict=True):
            areas[label] += area if label >= 0 else 0
    assert weights[-1] == 0  # it does not occur
    assert (weights * areas).sum() == pytest.approx(areas.sum())
    present = np.flatnonzero(areas)
    np.testing.assert_allclose(weights[present] * areas[present] ** balance, weights[0] * areas[0] ** balance)
    assert train.class_weight(describer.n_labels, 0.0) is None
