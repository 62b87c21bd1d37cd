"""Evaluation: figures over pixels, all from one prediction an image."""

import numpy as np
from work import counting

from neuralfactors import FactorModel
from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import UnaryClassifier
from neuralfactors.inference import _kernel as kernel
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Segmenter, evaluate
from neuralfactors.segmentation._labelled_images import to_samples
from neuralfactors.vision import FeatureSettings

WORK = {"networks": (FactorModel, "forward"), "solves": (kernel._kernels, "GraphsFloat32")}


def test_figures_are_those_of_painted_pixels(small_model, held_graphs):
    found = evaluate(small_model, held_graphs)
    assert found.n_images == len(held_graphs.X)
    for part in ("unary", "interaction", "joint"):
        maps = [
            image.paint(getattr(small_model.explain_potentials(small_model.potentials(graph)), part))
            for image, graph in zip(held_graphs.images, held_graphs.X, strict=True)
        ]
        truths = [sample.read_labels() for sample in held_graphs.samples]
        expected = Scores.of(zip(truths, maps, strict=True), len(SCENE_CLASSES))
        np.testing.assert_array_equal(getattr(found, part).confusion, expected.confusion)
    np.testing.assert_array_equal(small_model.score_graphs(held_graphs).confusion, found.joint.confusion)


def test_mean_interaction(small_model, held_graphs):
    tables = np.concatenate([small_model.potentials(graph).interaction for graph in held_graphs.X])
    np.testing.assert_allclose(
        evaluate(small_model, held_graphs).mean_interaction, tables.mean(axis=0), rtol=1e-4, atol=1e-6
    )


def test_each_image_is_predicted_once(small_model, held_graphs):
    n = len(held_graphs.X)
    with counting(**WORK) as work:
        found = evaluate(small_model, held_graphs, [0])
    assert work == {"networks": n, "solves": 2 * n}  # the interaction factors alone, and both together
    np.testing.assert_array_equal(found.maps.pop(0), small_model.predict_one(held_graphs.samples[0].read_image()))
    assert not found.maps
    with counting(**WORK) as work:
        small_model.score_graphs(held_graphs)
    assert work == {"networks": n, "solves": n}
    with counting(**WORK) as work:
        small_model.predict_with_confidence(held_graphs.samples[0].read_image())
    assert work == {"networks": 1, "solves": 1}  # the labels; how sure they are is a sum


def test_a_model_without_interactions_has_none_on_average():
    scenes = make_scenes(3, shape=(48, 64))
    fitted = Segmenter(FeatureSettings(n_regions=20), estimator=UnaryClassifier(max_iter=1)).fit(scenes)
    found = evaluate(fitted, fitted.describer_.describe(to_samples(scenes, "test")[0]))
    assert not found.mean_interaction.any()
    np.testing.assert_array_equal(found.joint.confusion, found.unary.confusion)
