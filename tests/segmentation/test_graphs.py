"""Labelled graphs: scaling, weights by area, class weights, memory."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from neuralfactors import Graph
from neuralfactors.segmentation import Ceiling
from neuralfactors.segmentation._graphs import (
    RegionTruth,
    ScaledGraphs,
    Scaling,
    ScalingLearner,
    ceiling_of,
    class_weights,
)


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


def test_parts_are_made_on_demand(described):
    _, train = described
    some = train.take([2, 0])
    assert [sample.name for sample in some.samples] == [train.samples[n].name for n in (2, 0)]
    assert some.Y[1] is train.truth[0].y


def test_the_ceiling_is_what_counting_pixel_by_pixel_says(described):
    describer, train = described
    right, total = np.zeros(describer.n_labels), np.zeros(describer.n_labels)
    for sample, image in zip(train.samples, train.images, strict=True):
        labels, regions = sample.read_labels(), image.full_regions
        for region in range(regions.max() + 1):
            inside = labels[(regions == region) & (labels >= 0)]
            counts = [int((inside == label).sum()) for label in range(describer.n_labels)]
            right[int(np.argmax(counts))] += max(counts)
            total += counts
    ceiling = train.ceiling(describer.n_labels)
    shares = [float(r / t) if t else None for r, t in zip(right, total, strict=True)]
    assert ceiling.pixel == pytest.approx(right.sum() / total.sum())
    assert ceiling.per_class == pytest.approx(shares)
    assert ceiling.class_mean == pytest.approx(np.mean([share for share in shares if share is not None]))


def test_the_ceiling_of_six_regions_counted_by_hand():
    counts = [[3, 1, 0, 0], [0, 2, 2, 0], [1, 0, 0, 5], [0, 0, 0, 4], [0, 0, 4, 0]]  # void comes last
    truth = RegionTruth.of(np.array(counts))
    assert truth.best.tolist() == [0, 1, 0, 0, 2]  # void is no label, and of equals the first wins
    ceiling = ceiling_of([truth], 4)
    assert ceiling.pixel == pytest.approx(10 / 13)
    assert ceiling.per_class == pytest.approx((1.0, 2 / 3, 4 / 6, None))
    assert ceiling.class_mean == pytest.approx((1 + 2 / 3 + 4 / 6) / 3)
    assert ceiling_of([RegionTruth.of(np.array([[0, 0, 7]]))], 2) == Ceiling(None, None, (None, None))


counted = st.integers(0, 2**16).map(lambda seed: np.random.default_rng(seed).integers(0, 4, (5, 4)))  # the last is void


@given(counts=counted)
def test_the_truth_of_regions_is_that_of_their_counts(counts):
    truth = RegionTruth.of(counts)
    rebuilt = np.zeros((5, 3), dtype=int)
    rebuilt[truth.node, truth.label] = truth.n_pixels
    np.testing.assert_array_equal(rebuilt, counts[:, :-1])
    for node, row in enumerate(counts[:, :-1].tolist()):
        assert truth.best[node] == (row.index(max(row)) if max(row) else 0)
        assert truth.labelled[node] == (row.index(max(row)) if max(row) else -1)
        if counts[node, -1] > sum(row):
            assert truth.y[node] == -1


@given(counts=counted, seed=st.integers(0, 2**16))
def test_no_labelling_of_the_regions_exceeds_the_ceiling(counts, seed):
    truth = RegionTruth.of(counts)
    y_pred = np.random.default_rng(seed).integers(0, 3, 5)
    confusion = truth.confusion(y_pred, 3)
    expected = np.zeros((3, 3))
    for node, row in enumerate(counts[:, :-1]):
        expected[:, y_pred[node]] += row
    np.testing.assert_array_equal(confusion, expected)
    ceiling = ceiling_of([truth], 3)
    if expected.any():
        assert np.trace(confusion) / confusion.sum() <= ceiling.pixel + 1e-12
        assert np.trace(truth.confusion(truth.best, 3)) / confusion.sum() == pytest.approx(ceiling.pixel)
    else:
        assert (ceiling.pixel, ceiling.class_mean) == (None, None)


@given(sizes=st.lists(st.floats(0, 1e6), min_size=1, max_size=6), balance=st.floats(0.01, 1))
def test_weights_of_classes_are_1_on_average(sizes, balance):
    sizes = np.array(sizes)
    weights = class_weights(sizes, balance)
    assert (weights[sizes == 0] == 0).all()
    seen = sizes > 1e-6
    if seen.any():
        assert (weights * sizes).sum() == pytest.approx(sizes.sum())
        order = np.argsort(sizes[seen])
        assert (np.diff(weights[seen][order]) <= 1e-9 * weights.max()).all()  # the rarer, the heavier


def test_scaling_is_that_of_all_rows_and_leaves_constants():
    rng = np.random.default_rng(0)
    graphs = [
        Graph(np.c_[rng.normal(3, 2, (n, 2)), np.full(n, 7.0)], [[0, 1]], rng.normal(size=(1, 1)).repeat(2, axis=1))
        for n in (4, 9)
    ]
    learner = ScalingLearner()
    for graph in graphs:
        learner.see(graph)
    scaling = learner.scaling()
    rows = np.concatenate([graph.node_features for graph in graphs])
    np.testing.assert_allclose(scaling.node_mean, rows.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(scaling.node_std, [*rows[:, :2].std(axis=0), 1.0], rtol=1e-5)
    scaled = np.concatenate([scaling.apply(graph).node_features for graph in graphs])
    np.testing.assert_allclose(scaled[:, 2], 0, atol=1e-6)
    back = Scaling(**scaling.to_arrays())
    np.testing.assert_array_equal(back.apply(graphs[0]).node_features, scaling.apply(graphs[0]).node_features)
    np.testing.assert_array_equal(Scaling.identity().apply(graphs[0]).edge_features, graphs[0].edge_features)


def test_without_edges_there_is_nothing_to_scale_them_by():
    learner = ScalingLearner()
    learner.see(Graph(np.ones((3, 2))))
    assert (learner.scaling().edge_mean.tolist(), learner.scaling().edge_std.tolist()) == ([0.0], [1.0])
