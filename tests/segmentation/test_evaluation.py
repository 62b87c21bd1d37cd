"""Evaluation: figures over pixels, all from one prediction an image."""

import numpy as np
import pytest
from work import counting

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import StructuralSVM, UnaryClassifier
from neuralfactors.factors import FactorModel
from neuralfactors.inference import kernel, solve
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Segmenter, evaluate
from neuralfactors.segmentation.samples import to_samples
from neuralfactors.vision import FeatureSettings

WORK = {"networks": (FactorModel, "forward"), "solves": (kernel._kernels, "solve_batch_float32")}


@pytest.fixture(scope="module")
def fitted():
    model = StructuralSVM((8,), (8,), max_iter=3)
    segmenter = Segmenter(FeatureSettings(n_regions=30), estimator=model, classes=SCENE_CLASSES)
    return segmenter.fit(make_scenes(6, shape=(48, 64)))


@pytest.fixture(scope="module")
def graphs(fitted):
    scenes = make_scenes(4, shape=(48, 64), random_state=9)
    scenes[0][1][:20] = -1  # void does not count
    return fitted.describer_.describe(to_samples(scenes, "test", SCENE_CLASSES)[0])


def test_figures_are_those_of_painted_pixels(fitted, graphs):
    found = evaluate(fitted, graphs)
    assert found.n_images == len(graphs.X)
    for part in ("unary", "interaction", "joint"):
        maps = [
            image.paint(getattr(fitted.explain_graph(graph), part))
            for image, graph in zip(graphs.images, graphs.X, strict=True)
        ]
        truths = [sample.read_labels() for sample in graphs.samples]
        expected = Scores.of(zip(truths, maps, strict=True), len(SCENE_CLASSES))
        np.testing.assert_array_equal(getattr(found, part).confusion, expected.confusion)
    np.testing.assert_array_equal(fitted.score_graphs(graphs).confusion, found.joint.confusion)


def test_parts_are_maxima_of_their_factors(fitted, graphs):
    for graph in graphs.X:
        unary, interaction, edges = fitted.potentials(graph)
        found = fitted.explain_graph(graph)
        np.testing.assert_array_equal(found.unary, solve(unary, np.zeros_like(interaction), edges).labels)
        np.testing.assert_array_equal(found.interaction, solve(np.zeros_like(unary), interaction, edges).labels)
        np.testing.assert_array_equal(found.joint, fitted.stages_[-1].predict([graph])[0])


def test_mean_interaction(fitted, graphs):
    tables = np.concatenate([fitted.potentials(graph)[1] for graph in graphs.X])
    np.testing.assert_allclose(evaluate(fitted, graphs).mean_interaction, tables.mean(axis=0), rtol=1e-4, atol=1e-6)


def test_each_image_is_predicted_once(fitted, graphs):
    n = len(graphs.X)
    with counting(**WORK) as work:
        found = evaluate(fitted, graphs)
    assert work == {"networks": n, "solves": 2 * n}  # the interaction factors alone, and both together
    assert [len(y) for y in found.labels] == [graph.n_nodes for graph in graphs.X]
    with counting(**WORK) as work:
        fitted.score_graphs(graphs)
    assert work == {"networks": n, "solves": n}
    with counting(**WORK) as work:
        fitted.predict_with_confidence(graphs.samples[0].read_image())
    assert work == {"networks": 1, "solves": 2}  # the labels, and what other labels would cost


def test_a_model_without_interactions_has_none_on_average():
    scenes = make_scenes(3, shape=(48, 64))
    fitted = Segmenter(FeatureSettings(n_regions=20), estimator=UnaryClassifier(max_iter=1)).fit(scenes)
    found = evaluate(fitted, fitted.describer_.describe(to_samples(scenes, "test")[0]))
    assert not found.mean_interaction.any()
    np.testing.assert_array_equal(found.joint.confusion, found.unary.confusion)
