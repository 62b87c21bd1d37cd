"""Labels of regions and costs of mistakes, counted by hand on a few regions and pixel by pixel on scenes."""

import numpy as np
import pytest

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import CuttingPlaneSVM, StructuralSVM
from neuralfactors.segmentation import ArraySample, Segmenter
from neuralfactors.segmentation._copies import with_copies
from neuralfactors.segmentation._graphs import RegionTruth
from neuralfactors.segmentation._targets import Targets, default_balance, pixel_costs
from neuralfactors.vision import FeatureSettings

COUNTS = np.array([[3, 1, 0], [0, 2, 6], [0, 0, 4], [2, 2, 0]])  # of two classes and, last, void
TRUTH = RegionTruth.of(COUNTS)


@pytest.mark.parametrize(("rule", "expected"), [("majority", [0, -1, -1, 0]), ("labelled", [0, 1, -1, 0])])
def test_whether_void_pixels_have_a_vote(rule, expected):
    assert Targets(region_label=rule).labels(TRUTH).tolist() == expected


def test_pixel_costs_by_hand():
    unit = 10 / 3  # three regions have ten labelled pixels
    np.testing.assert_allclose(pixel_costs(TRUTH, np.ones(2)) * unit, [[1, 3], [2, 0], [0, 0], [2, 2]], rtol=1e-6)
    np.testing.assert_allclose(
        pixel_costs(TRUTH, np.array([1.0, 5.0])) * unit, [[5, 3], [10, 0], [0, 0], [10, 2]], rtol=1e-6
    )


@pytest.mark.parametrize("region_label", ["majority", "labelled"])
def test_a_labelling_costs_its_wrong_pixels(described, region_label):
    describer, train = described
    X, Y, weight = Targets(0.0, cost="pixel", region_label=region_label).of(train, describer.n_labels)
    assert weight is None
    y_pred = np.random.default_rng(0).integers(0, describer.n_labels, X[0].n_nodes)
    labels, painted = train.samples[0].read_labels(), train.images[0].paint(y_pred)
    wrong, labelled = ((labels >= 0) & (labels != painted)).sum(), (labels >= 0).sum()
    costs = X[0].node_weight[np.arange(len(y_pred)), y_pred]
    assert costs.sum() / len(Y[0]) == pytest.approx(wrong / labelled, rel=1e-5)


def test_regions_that_cost_the_same_have_no_weight(described):
    describer, train = described
    X, Y, weight = Targets(1.0, cost="region").of(train, describer.n_labels)
    assert [graph.node_weight for graph in X[:2]] == [None, None]
    np.testing.assert_array_equal(X[1].node_features, train.X[1].node_features)
    sizes = np.bincount(np.concatenate(Y), minlength=describer.n_labels)
    np.testing.assert_allclose((weight * sizes)[sizes > 0], sizes.sum() / (sizes > 0).sum())  # η is 1 / their number


def sample():
    return ArraySample("one", np.zeros((2, 2, 3), np.uint8), np.zeros((2, 2), int))


def test_copies_of_an_image_show_a_class_once():
    copies = with_copies([sample(), sample()], mirror=True, varied=2)
    one, other = np.array([0, 1]), np.array([0, 0])
    shown = default_balance(copies, [one] * 4 + [other] * 4, 2)
    assert shown.tolist() == pytest.approx([0.5 * 2 / 7, 0.5 / 6])


def test_classes_that_few_images_show_count_by_their_area(described):
    describer, train = described
    y = np.array([0, 0, 1, -1])  # of an image whose second class is rarer
    assert default_balance([sample()], [y], 3).tolist() == pytest.approx([0.5 / 6, 0.5 / 6, 0.0])
    many = [sample() for _ in range(95)]
    assert default_balance(many, [y] * 95, 3).tolist() == pytest.approx([0.475, 0.475, 0.0])
    learnt = Targets().of(train, describer.n_labels)
    sizes = train.areas(describer.n_labels, train.Y)
    balance = default_balance(train.samples, train.Y, describer.n_labels)
    seen = sizes > 0
    expected = (sizes[seen] / sizes.sum()) ** -balance[seen]
    np.testing.assert_allclose(learnt.class_weight[seen] / learnt.class_weight[seen][0], expected / expected[0])
    assert (learnt.class_weight * sizes).sum() == pytest.approx(sizes.sum())


def test_by_area_nothing_changes(described):
    describer, train = described
    X, Y, weight = Targets(0.5).of(train, describer.n_labels)
    assert X is train.X
    assert all(map(np.array_equal, Y, train.Y))
    np.testing.assert_array_equal(weight, train.class_weight(describer.n_labels, 0.5))


@pytest.mark.parametrize("model", [StructuralSVM((8,), (8,), max_iter=5), CuttingPlaneSVM(max_iter=5, tol=0.5)])
@pytest.mark.parametrize("cost", ["pixel", "region"])
@pytest.mark.filterwarnings("ignore")
def test_segmenters_learn_by_every_cost(model, cost):
    scenes = make_scenes(6, shape=(48, 64))
    options = {"cost": cost, "region_label": "labelled", "balance": 0.5, "classes": SCENE_CLASSES}
    segmenter = Segmenter(FeatureSettings(n_regions=30), estimator=model, **options).fit(scenes)
    assert segmenter.score(scenes) > 0.5


@pytest.mark.parametrize("wrong", [{"cost": "money"}, {"region_label": "first"}])
def test_unknown_words_are_refused(wrong):
    (name, value), *_ = wrong.items()
    with pytest.raises(ValueError, match=f"{name} must be one of .*{value}"):
        Targets(**wrong)


@pytest.mark.parametrize("balance", [2, -0.5])
def test_a_balance_is_a_share(balance):
    with pytest.raises(ValueError, match=f"balance must be a number from 0 to 1, or None, got {balance}"):
        Targets(balance)
