"""Labels of pixels near the borders between labels: what they may become, what they gain, what files keep of them."""

import numpy as np
import pytest

from neuralfactors.datasets import CELL_CLASSES, make_cells
from neuralfactors.estimators import StructuralSVM
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Segmenter, evaluate
from neuralfactors.segmentation._labelled_images import to_samples
from neuralfactors.segmentation._pixels import PixelNetwork, candidates
from neuralfactors.vision import FeatureSettings

CELLS = make_cells(5, shape=(96, 112), random_state=5)
SETTINGS = FeatureSettings(n_regions=120, refine=True)
pytestmark = pytest.mark.filterwarnings("ignore:The regions, about", "ignore:The model has learnt hardly more")


def fitted(settings):
    model = StructuralSVM((16,), (16,), max_iter=10, batch_size=1)
    return Segmenter(settings, estimator=model, classes=CELL_CLASSES).fit(CELLS[:3])


@pytest.fixture(scope="module")
def segmenter():
    return fitted(SETTINGS)


def test_candidates_are_labels_of_a_region_and_of_those_that_touch_it():
    regions = np.array([[0, 0, 1, 1, 2, 2], [3, 3, 3, 3, 3, 2]], dtype=np.int32)
    labels = np.array([2, 0, 1, 0])
    expected = [{0, 2}, {0, 1, 2}, {0, 1}, {0, 1, 2}]
    assert [set(np.flatnonzero(row)) for row in candidates(regions, labels, 4)] == expected


def test_pixels_gain_over_regions(segmenter):
    coarse = fitted(FeatureSettings(n_regions=120, refine=False))
    assert coarse.describer_.pixels is None
    fine, former = [
        m.score_graphs(m.describer_.describe(to_samples(CELLS[3:], "train", CELL_CLASSES)[0]))
        for m in (segmenter, coarse)
    ]
    assert fine.pixel_accuracy > former.pixel_accuracy + 0.01
    assert fine.class_mean_accuracy > former.class_mean_accuracy + 0.02


def test_pixels_far_from_other_labels_stay_as_their_regions_are(segmenter):
    described, graph = segmenter.describer_.graph(CELLS[3][0])
    labels = segmenter.explain_potentials(segmenter.potentials(graph)).joint
    alone = candidates(described.regions, labels, 2).sum(axis=1)[described.regions] == 1
    painted = segmenter.predict_one(CELLS[3][0])
    np.testing.assert_array_equal(painted[alone], labels[described.regions][alone])
    assert (painted != labels[described.regions]).any()


def test_evaluation_counts_what_predict_labels(segmenter):
    samples, _ = to_samples(CELLS[3:], "train", CELL_CLASSES)
    graphs = segmenter.describer_.describe(samples)
    expected = Scores.of([(y, segmenter.predict_one(image)) for image, y in CELLS[3:]], 2).confusion
    np.testing.assert_array_equal(evaluate(segmenter, graphs).joint.confusion, expected)
    np.testing.assert_array_equal(segmenter.score_graphs(graphs).confusion, expected)
    assert segmenter.explain(CELLS[3][0]).joint.tolist() == segmenter.predict_one(CELLS[3][0]).tolist()


def test_files_keep_the_network(segmenter, tmp_path):
    segmenter.save(tmp_path / "model")
    loaded = Segmenter.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_one(CELLS[4][0]), segmenter.predict_one(CELLS[4][0]))


def test_calibration_changes_no_label(segmenter):
    before = segmenter.predict_one(CELLS[4][0])
    temperature = segmenter.stages_[-1].temperature_
    segmenter.calibrate(CELLS[3:])
    assert segmenter.stages_[-1].temperature_ != temperature
    np.testing.assert_array_equal(segmenter.predict_one(CELLS[4][0]), before)
    segmenter.stages_[-1].temperature_ = temperature


def test_confidence_is_that_of_the_label_of_the_pixel(segmenter):
    image = CELLS[4][0]
    labels, sure = segmenter.predict_with_confidence(image)
    (proba,) = segmenter.predict_proba([image])
    np.testing.assert_array_equal(sure, np.take_along_axis(proba, labels[..., None], axis=2)[..., 0])


def test_large_pictures_are_refined_as_their_features_see_them():
    model = fitted(FeatureSettings(n_regions=120, refine=True, max_side=56))
    assert model.predict_one(CELLS[3][0]).shape == CELLS[3][0].shape[:2]


def test_nothing_is_learnt_of_void():
    void = [(image, np.full_like(labels, -1)) for image, labels in CELLS[:2]]
    samples, _ = to_samples(void, "train", CELL_CLASSES)
    assert PixelNetwork.learn(samples, lambda sample: sample.read_image(), 2, 0) is None


def test_labels_that_the_network_has_not_seen_are_those_of_whole_regions():
    samples, _ = to_samples(CELLS[:1], "train", CELL_CLASSES)
    network = PixelNetwork.learn(samples, lambda sample: sample.read_image(), 3, 0)  # no pixel has the label 2
    regions = np.repeat(np.arange(7, dtype=np.int32), 16)[None].repeat(96, axis=0)
    labels = np.array([0, 1, 2, 0, 1, 2, 0])
    refined = network.refine(CELLS[0][0], regions, labels, np.zeros((7, 3), dtype=np.float32))
    np.testing.assert_array_equal(refined == 2, labels[regions] == 2)
    assert (refined != labels[regions]).any()


def test_frequent_labels_are_not_favoured_where_pictures_say_nothing():
    flat = np.full((48, 48, 3), 90, dtype=np.uint8)
    rare = np.random.default_rng(0).random((48, 48)) < 0.05
    samples, _ = to_samples([(flat, rare.astype(int))], "train", CELL_CLASSES)
    network = PixelNetwork.learn(samples, lambda sample: sample.read_image(), 2, 0)
    ((of_cells, of_membranes),) = network.scores(network.mean[None])
    assert abs(of_cells - of_membranes) < 0.3  # the logarithm of how much more frequent cells are is 2.9


@pytest.mark.parametrize(("n_regions", "learns"), [(0, True), (40, False)])
def test_pixels_are_refined_where_regions_are_chosen(n_regions, learns):
    samples, classes = to_samples(make_cells(2, shape=(48, 48)), "train", CELL_CLASSES)
    describer = Segmenter(FeatureSettings(n_regions=n_regions)).describer(classes)
    describer.learn(samples)
    assert (describer.pixels is not None) == learns


def test_scores_are_those_of_the_layers_and_come_again():
    samples, _ = to_samples(CELLS[:1], "train", CELL_CLASSES)
    one, again = (PixelNetwork.learn(samples, lambda sample: sample.read_image(), 2, 0) for _ in range(2))
    points = np.random.default_rng(0).normal(size=(7, len(one.mean))).astype(np.float32)
    hidden = np.maximum((points - one.mean) * one.scale @ one.inner + one.inner_bias, 0)
    np.testing.assert_allclose(one.scores(points), hidden @ one.outer + one.outer_bias, rtol=1e-3, atol=1e-3)
    np.testing.assert_array_equal(one.scores(points), again.scores(points))
