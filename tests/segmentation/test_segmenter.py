"""Segmenter: what it learns, predicts, explains, saves and refuses."""

import os
from dataclasses import replace

import numpy as np
import pytest
from learners import make
from pictures import Pyramid
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from torch import nn

from neuralfactors._common.files import FileFormatError
from neuralfactors._common.persistence import load_model, save_model
from neuralfactors.datasets import SCENE_CLASSES, ImageFolder, make_scenes, write_scenes
from neuralfactors.estimators import StructuralSVM, UnaryClassifier
from neuralfactors.segmentation import ArraySample, Segmenter, evaluate
from neuralfactors.segmentation._graph_prediction import as_arrays
from neuralfactors.segmentation._targets import Targets
from neuralfactors.vision import CNNSettings, FeatureSettings, majority_labels

# Most models here are trained for an epoch or two: what they learn is not what is tested.
pytestmark = pytest.mark.filterwarnings("ignore:.*training ended with")

SETTINGS = FeatureSettings(n_regions=30)
SMALL = make(StructuralSVM, (16,), (16,), C=100.0, max_iter=4, batch_size=2, trainer__learning_rate=0.01)
BIFURCATED = Pipeline([("unary", UnaryClassifier(max_iter=4)), ("svm", clone(SMALL).set_params(unary__hidden=()))])


@pytest.fixture(scope="module")
def scenes():
    return make_scenes(8, shape=(48, 64))


@pytest.fixture(scope="module", params=["integrated", "bifurcated"])
def fitted(request, scenes):
    estimator = SMALL if request.param == "integrated" else BIFURCATED
    return Segmenter(SETTINGS, estimator=estimator, classes=SCENE_CLASSES).fit(scenes[:6], validation=scenes[6:])


def test_label_map_and_confidences(fitted, scenes):
    image = scenes[7][0]
    labels, probabilities = fitted.predict_one(image), fitted.predict_proba([image])[0]
    assert labels.shape == (48, 64)
    assert set(np.unique(labels)) <= set(range(7))
    assert probabilities.shape == (48, 64, 7)
    np.testing.assert_allclose(probabilities.sum(axis=2), 1, atol=1e-5)
    of_labels = np.take_along_axis(probabilities, labels[..., None], axis=2)[..., 0]
    np.testing.assert_array_equal(fitted.confidence(image), of_labels)
    assert fitted.class_names == list(SCENE_CLASSES)
    assert fitted.stages_[-1].history_[-1]["accuracy"] is not None


def test_predict_takes_what_fit_takes(fitted, scenes, tmp_path):
    images = [image for image, _ in scenes[:3]]
    expected = [fitted.predict_one(image) for image in images]
    data = ImageFolder(write_scenes(tmp_path, 3, shape=(48, 64)))
    samples = sorted((sample for split in data.splits for sample in data[split]), key=lambda sample: sample.name)
    paths = [sample.image_path for sample in samples]
    for given in (images, np.stack(images), scenes[:3], samples, paths):
        for found, labels in zip(fitted.predict(given), expected, strict=True):
            np.testing.assert_array_equal(found, labels)
    np.testing.assert_array_equal(fitted.predict(data, split="val")[0], fitted.predict_one(data["val"][0]))
    for one in (images[0], str(paths[0])):
        with pytest.raises(ValueError, match=r"images must be a sequence of pictures.*put it into a list"):
            fitted.predict(one)
    assert fitted.predict([]) == []


def test_seeds_may_come_from_a_generator(scenes):
    def predict(random_state):
        segmenter = Segmenter(estimator=SMALL, classes=SCENE_CLASSES, random_state=random_state)
        return segmenter.fit(scenes[:2]).predict_proba([scenes[7][0]])[0]

    first, again = (predict(np.random.RandomState(3)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert (first != predict(np.random.default_rng(3))).any()


def test_explanation_shows_the_parts(fitted, scenes):
    image = scenes[7][0]
    described, graph = fitted.describer_.graph(image)
    unary, interaction, edges = as_arrays(fitted.potentials(graph))
    explanation = fitted.explain(image)
    np.testing.assert_array_equal(explanation.joint, fitted.predict_one(image))
    np.testing.assert_array_equal(explanation.unary, described.paint(unary.argmax(axis=1)))
    y = majority_labels(described.full_regions, explanation.interaction)
    scores = interaction[np.arange(len(edges)), y[edges[:, 0]], y[edges[:, 1]]].sum()
    others = [interaction[:, a, a].sum() for a in range(7)]
    assert scores >= max(others) - 1e-3
    assert explanation.picture().shape == (48, 4 * 64 + 3 * 4, 3)


def test_save_and_load(fitted, scenes, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = Segmenter.load(tmp_path / "model")
    for image, _ in scenes[6:]:
        np.testing.assert_array_equal(loaded.predict_one(image), fitted.predict_one(image))
        np.testing.assert_array_equal(loaded.predict_proba([image]), fitted.predict_proba([image]))
    assert loaded.describer_.classes == fitted.describer_.classes
    assert not [path for path in (tmp_path / "model").rglob("*") if path.suffix in (".pkl", ".pt")]


def test_a_model_of_one_stage_replaces_one_of_two(scenes, tmp_path):
    for estimator in (BIFURCATED, UnaryClassifier(max_iter=2)):
        Segmenter(SETTINGS, estimator=estimator).fit(scenes[:3]).save(tmp_path)
    assert len(Segmenter.load(tmp_path).stages_) == 1


class Killed(BaseException):
    pass


@pytest.mark.parametrize("estimator", [SMALL, BIFURCATED], ids=["integrated", "bifurcated"])
def test_a_kill_leaves_the_old_model_or_the_new_one(scenes, tmp_path, monkeypatch, estimator):
    """Wherever saving over an older model ends, of other words and other factors."""
    settings = replace(SETTINGS, random_state=5)
    old = Segmenter(SETTINGS, estimator=BIFURCATED, classes=SCENE_CLASSES).fit(scenes[:3])
    new = Segmenter(settings, estimator=estimator, classes=SCENE_CLASSES, random_state=5).fit(scenes[3:6])
    image, seen = scenes[7][0], []
    for n_calls in range(100):
        place, left = tmp_path / str(n_calls), [n_calls]
        old.save(place)

        def limit(call, left=left):
            def limited(*arguments, **options):
                left[0] -= 1
                if left[0] < 0:
                    raise Killed
                return call(*arguments, **options)

            return limited

        with monkeypatch.context() as patch:
            for name in ("replace", "rename", "unlink", "remove", "rmdir"):
                patch.setattr(os, name, limit(getattr(os, name)))
            try:
                new.save(place)
                finished = True
            except Killed:
                finished = False
        found = Segmenter.load(place).predict_proba([image])
        seen.append([np.array_equal(found, model.predict_proba([image])) for model in (old, new)])
        if finished:
            break
    assert seen[0] == [True, False]
    assert seen[-1] == [False, True]
    assert all(sum(each) == 1 for each in seen)


def test_estimators_go_with_their_own_features(scenes, tmp_path):
    segmenters = [
        Segmenter(SETTINGS, estimator=UnaryClassifier(max_iter=1)).fit(part) for part in (scenes[:3], scenes[3:6])
    ]
    for name, segmenter in zip("ab", segmenters, strict=True):
        segmenter.describer_.save(tmp_path / f"features-{name}")
        segmenter.save_model(tmp_path / name)
    loaded = Segmenter.load(tmp_path / "a", features=tmp_path / "features-a")
    np.testing.assert_array_equal(loaded.predict_one(scenes[7][0]), segmenters[0].predict_one(scenes[7][0]))
    with pytest.raises(
        FileFormatError, match=r"features-b contains other features than those that .* was trained with"
    ):
        Segmenter.load(tmp_path / "a", features=tmp_path / "features-b")
    with pytest.raises(ValueError, match="a contains no features: pass the folder that does as features"):
        Segmenter.load(tmp_path / "a")


def test_load_refuses_what_is_not_whole(fitted, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no model\.json"):
        Segmenter.load(tmp_path)
    fitted.save(tmp_path)
    [path] = tmp_path.glob("*.safetensors")
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(FileFormatError, match="truncated or altered"):
        Segmenter.load(tmp_path)


def test_without_interactions_the_confidence_is_the_probability(scenes):
    segmenter = Segmenter(SETTINGS, estimator=UnaryClassifier(max_iter=3)).fit(scenes[:4])
    described, graph = segmenter.describer_.graph(scenes[5][0])
    expected = described.paint(segmenter.stages_[0].predict_proba([graph])[0])
    np.testing.assert_allclose(segmenter.predict_proba([scenes[5][0]])[0], expected, atol=1e-4)


def test_fit_twice_and_clone_give_the_same_model(scenes):
    segmenter = Segmenter(SETTINGS, estimator=SMALL)
    first = segmenter.fit(scenes[:4]).predict_one(scenes[5][0])
    np.testing.assert_array_equal(segmenter.fit(scenes[:4]).predict_one(scenes[5][0]), first)
    np.testing.assert_array_equal(clone(segmenter).fit(scenes[:4]).predict_one(scenes[5][0]), first)


def test_folder_and_arrays_are_the_same_to_it(scenes, tmp_path):
    folder = ImageFolder(write_scenes(tmp_path / "scenes", 8, shape=(48, 64)))
    by_folder = Segmenter(SETTINGS, estimator=SMALL, cache=tmp_path / "cache").fit(folder, validation="val")
    pairs = [sample.read() for sample in folder["train"]]
    by_arrays = Segmenter(SETTINGS, estimator=SMALL, classes=SCENE_CLASSES).fit(pairs)
    path = folder["test"][0].image_path
    np.testing.assert_array_equal(by_folder.predict_one(path), by_arrays.predict_one(path))
    again = Segmenter(SETTINGS, estimator=SMALL, cache=tmp_path / "cache").fit(folder)
    np.testing.assert_array_equal(again.predict_one(path), by_folder.predict_one(path))


def test_validation_and_data_to_score_need_the_classes_of_training(tmp_path):
    folder = ImageFolder(write_scenes(tmp_path / "scenes", 8, shape=(48, 64)))
    other = ImageFolder(folder.root, drop=[SCENE_CLASSES[0]])
    segmenter = Segmenter(SETTINGS, estimator=SMALL)
    with pytest.raises(ValueError, match=r"validation has the classes .*, but the model was trained on"):
        segmenter.fit(folder, split="train", validation=[*other["test"]])
    fitted = segmenter.fit(folder)
    for judge in (fitted.score, fitted.calibrate):
        with pytest.raises(ValueError, match=r"the dataset has the classes .*, but the model was trained on"):
            judge(other, split="test")


def test_own_network(scenes):
    settings = FeatureSettings(features="bow+cnn", n_regions=30, cnn=CNNSettings(maps=2))
    segmenter = Segmenter(settings, estimator=UnaryClassifier(max_iter=2), backbone=Pyramid()).fit(scenes[:3])
    assert segmenter.stages_[0].n_node_features_ > 90
    assert segmenter.predict_one(scenes[4][0]).shape == (48, 64)


OWN = {"unary": nn.Linear(90, 7), "interaction": nn.Linear(32, 49)}
RELU_FIRST = Pipeline(
    [
        ("unary", make(UnaryClassifier, (4,), unary__activation=nn.ReLU, max_iter=1)),
        ("svm", StructuralSVM((), (4,), max_iter=1)),
    ]
)


@pytest.mark.parametrize(
    ("estimator", "given"),
    [
        (StructuralSVM(**OWN, max_iter=1), OWN),
        (RELU_FIRST, {"unary__activation": nn.ReLU}),
    ],
)
def test_own_factors_are_given_again(scenes, tmp_path, estimator, given):
    segmenter = Segmenter(SETTINGS, estimator=estimator, classes=SCENE_CLASSES).fit(scenes[:3])
    segmenter.save(tmp_path)
    with pytest.raises(ValueError, match="given as Python objects: pass them to load again"):
        Segmenter.load(tmp_path)
    loaded = Segmenter.load(tmp_path, n_jobs=2, decoder__method="trws", **given)
    assert (loaded.n_jobs, loaded.stages_[-1].decoder.method) == (2, "trws")
    if estimator is RELU_FIRST:
        assert loaded.stages_[-1].unary.activation == "tanh"  # which its file holds
    graph = segmenter.describer_.graph(scenes[5][0])[1]
    for found, expected in zip(*(as_arrays(each.potentials(graph)) for each in (loaded, segmenter)), strict=True):
        np.testing.assert_array_equal(found, expected)


def test_own_network_is_known_again(scenes, tmp_path):
    settings = FeatureSettings(features="cnn", n_regions=30, cnn=CNNSettings(maps=2))
    estimator = UnaryClassifier(max_iter=1)
    segmenter = Segmenter(settings, estimator=estimator, backbone=Pyramid()).fit(scenes[:3])
    segmenter.save(tmp_path)
    with pytest.raises(ValueError, match="trained with a custom backbone, Pyramid: pass it as backbone"):
        Segmenter.load(tmp_path)
    other = Pyramid()
    nn.init.zeros_(other.second.bias)
    with pytest.raises(ValueError, match="trained with another backbone, Pyramid, than the one given"):
        Segmenter.load(tmp_path, backbone=other)
    loaded = Segmenter.load(tmp_path, backbone=Pyramid())
    np.testing.assert_array_equal(loaded.predict_proba([scenes[4][0]]), segmenter.predict_proba([scenes[4][0]]))


def test_a_named_network_is_not_replaced(scenes, tmp_path):
    settings = FeatureSettings(features="cnn", n_regions=30, cnn=CNNSettings(maps=2))
    segmenter = Segmenter(settings, estimator=UnaryClassifier(max_iter=1), backbone=Pyramid()).fit(scenes[:3])
    segmenter.describer_.builder.backbone = None  # as if the settings' own had been used
    segmenter.save(tmp_path)
    with pytest.raises(
        ValueError, match="trained with the backbone 'efficientnet-lite2': leave out the option backbone"
    ):
        Segmenter.load(tmp_path, backbone=Pyramid())


def test_files_older_than_portraits_of_networks(scenes, tmp_path):
    settings = FeatureSettings(features="cnn", n_regions=30, cnn=CNNSettings(maps=2))
    segmenter = Segmenter(settings, estimator=UnaryClassifier(max_iter=1), backbone=Pyramid()).fit(scenes[:3])
    segmenter.save(tmp_path)
    document, tensors = load_model(tmp_path)
    del document["parts"]["features"]["backbone"]
    save_model(tmp_path, {name: document[name] for name in ("class", "features_sha256", "parts")}, tensors)
    loaded = Segmenter.load(tmp_path, backbone=Pyramid())
    np.testing.assert_array_equal(loaded.predict_one(scenes[4][0]), segmenter.predict_one(scenes[4][0]))


@pytest.mark.parametrize(
    ("features", "balance", "expected"), [("bow", {}, None), ("cnn", {}, None), ("cnn", {"balance": 1.0}, 1.0)]
)
def test_balance(features, balance, expected):
    scenes = make_scenes(2, shape=(48, 64))
    settings = FeatureSettings(features, n_regions=30, cnn=CNNSettings(maps=1))
    segmenter = Segmenter(settings, estimator=UnaryClassifier(max_iter=1), **balance, backbone=Pyramid())
    weight = segmenter.fit(scenes).stages_[0].class_weight
    train = segmenter.describer_.describe([ArraySample("", *scene) for scene in scenes])
    np.testing.assert_array_equal(weight, Targets(expected).of(train, segmenter.describer_.n_labels).class_weight)


def test_evaluation_counts_pixels(fitted, scenes):
    graphs = fitted.describer_.describe([ArraySample(str(n), *scene) for n, scene in enumerate(scenes[6:])])
    found = evaluate(fitted, graphs)
    labelled = sum(int((labels >= 0).sum()) for _, labels in scenes[6:])
    right = sum(int((fitted.predict_one(image) == labels).sum()) for image, labels in scenes[6:])
    assert found.joint.confusion.sum() == labelled
    assert np.trace(found.joint.confusion) == right
    assert found.n_images == 2


def test_score_is_the_pixel_accuracy(fitted, scenes):
    labels = [truth.copy() for _, truth in scenes[6:]]
    labels[0][:20] = -1  # void does not count
    samples = [ArraySample(str(n), image, y) for n, ((image, _), y) in enumerate(zip(scenes[6:], labels, strict=True))]
    expected = evaluate(fitted, fitted.describer_.describe(samples)).joint.pixel_accuracy
    assert fitted.score(samples) == pytest.approx(expected)
    assert fitted.score([(sample.image, sample.labels) for sample in samples]) == pytest.approx(expected)


def test_scikit_learn_searches_over_segmenters(scenes):
    segmenter = Segmenter(SETTINGS, estimator=SMALL, classes=SCENE_CLASSES)
    search = GridSearchCV(segmenter, {"balance": [0.0, 1.0], "estimator__max_iter": [1]}, cv=2).fit(scenes[:4])
    held = [clone(segmenter).set_params(**search.best_params_).fit(scenes[2:4]).score(scenes[:2])]
    held += [clone(segmenter).set_params(**search.best_params_).fit(scenes[:2]).score(scenes[2:4])]
    assert search.best_score_ == pytest.approx(np.mean(held))


def test_refusals(scenes, tmp_path):
    image, labels = scenes[0]
    with pytest.raises(ValueError, match="got a path: use ImageFolder"):
        Segmenter().fit("photos")
    with pytest.raises(ValueError, match="classes names 2 labels, but there is a label"):
        Segmenter(classes=("a", "b")).fit(scenes[:1])
    with pytest.raises(ValueError, match=r"label map of image 0 is 10 × 48, but the image is 64 × 48"):
        Segmenter(SETTINGS).fit([(image, labels[:, :10])])
    with pytest.raises(ValueError, match="validation='val' names a split, but only an ImageFolder has splits"):
        Segmenter(SETTINGS).fit(scenes[:2], validation="val")
    with pytest.raises(ValueError, match="the dataset contains no image"):
        Segmenter(classes=("a",)).fit([])
    with pytest.raises(ValueError, match="estimator must be one of the estimators of neuralfactors"):
        Segmenter(SETTINGS, estimator=LogisticRegression()).fit(scenes[:1])
    with pytest.raises(ValueError, match="features must be one of 'bow'"):
        Segmenter("sift").fit(scenes[:1])
    with pytest.raises(NotFittedError):
        Segmenter().predict_one(image)
    with pytest.raises(ValueError, match="have 3 channels of 8 bits, but this image has 3 channels of floats"):
        Segmenter(SETTINGS, estimator=UnaryClassifier(max_iter=1)).fit(scenes[:2]).predict_one(image / 255.0)
