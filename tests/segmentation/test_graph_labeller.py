"""What a fitted segmenter says of graphs that its describer has made."""

import copy

import numpy as np

from neuralfactors.datasets import SCENE_CLASSES
from neuralfactors.segmentation import evaluate
from neuralfactors.segmentation._graph_prediction import as_arrays


def labelled(model, graph):
    return model.explain_potentials(model.potentials(graph)).joint


def test_labels_of_described_graphs_are_those_of_the_images(small_model, held_graphs):
    for sample, image, graph in zip(held_graphs.samples, held_graphs.images, held_graphs.X, strict=True):
        labels = image.paint(labelled(small_model, graph))
        np.testing.assert_array_equal(labels, small_model.predict_one(sample.read_image()))


def test_scores_of_described_graphs_count_pixels(small_model, held_graphs):
    expected = evaluate(small_model, held_graphs).joint.confusion
    np.testing.assert_array_equal(small_model.score_graphs(held_graphs).confusion, expected)


def test_potentials_have_the_sizes_of_the_graph(small_model, held_graphs):
    graph = held_graphs.X[0]
    unary, interaction, edges = as_arrays(small_model.potentials(graph))
    assert unary.shape == (graph.n_nodes, 7)
    assert interaction.shape == (graph.n_edges, 7, 7)
    np.testing.assert_array_equal(edges, graph.edges)


def test_class_names_are_those_of_the_images(small_model):
    assert small_model.class_names == list(SCENE_CLASSES)


def test_the_temperature_is_that_of_the_most_probable_pixels(small_model, held_graphs):
    model = copy.deepcopy(small_model)
    labels = [labelled(model, graph) for graph in held_graphs.X]

    def likelihood(temperature):
        model.stages_[-1].temperature_ = temperature
        proba = [model.region_proba(model.potentials(graph)) for graph in held_graphs.X]
        pairs = zip(proba, held_graphs.truth, strict=True)
        return sum(float((t.n_pixels * np.log(np.maximum(p[t.node, t.label], 1e-6))).sum()) for p, t in pairs)

    found = model.calibrate_graphs(held_graphs).stages_[-1].temperature_
    assert found != 1.0
    assert likelihood(found) >= max(likelihood(factor * found) for factor in (0.8, 1.25))
    assert all((y == labelled(model, graph)).all() for y, graph in zip(labels, held_graphs.X, strict=True))
