"""What a model says of pictures of any size and memory layout; its answers agree with each other."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from sklearn.exceptions import NotFittedError

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import UnaryClassifier
from neuralfactors.segmentation import Segmenter
from neuralfactors.vision import FeatureSettings

PICTURE = make_scenes(1, shape=(48, 64), random_state=4)[0][0]


@pytest.fixture(scope="module")
def refined():
    settings = FeatureSettings(n_regions=30, refine=True)
    model = Segmenter(settings, estimator=UnaryClassifier(max_iter=3), classes=SCENE_CLASSES)
    return model.fit(make_scenes(2, shape=(36, 48)))


@pytest.mark.parametrize("part", [np.s_[:1, :1], np.s_[:1], np.s_[:, :1], np.s_[:5, :7], np.s_[::-1, ::3]])
def test_a_map_has_the_size_of_its_picture(small_model, refined, part):
    for model in (small_model, refined):
        labels, confidence = model.predict_with_confidence(PICTURE[part])
        assert labels.shape == confidence.shape == PICTURE[part].shape[:2]
        assert labels.dtype == np.int64
        assert 0 <= labels.min() <= labels.max() < len(SCENE_CLASSES)
        assert 0 <= confidence.min() <= confidence.max() <= 1
        assert model.explain(PICTURE[part]).joint.tolist() == labels.tolist()


def test_one_colour_is_a_picture(small_model, refined):
    for model in (small_model, refined):
        assert model.predict_one(np.full((20, 30, 3), 77, np.uint8)).shape == (20, 30)


def test_how_a_picture_lies_in_memory_means_nothing(small_model, refined):
    frozen = PICTURE.copy()
    frozen.setflags(write=False)
    wide = np.zeros((*PICTURE.shape[:2], 4), np.uint8)
    wide[..., :3] = PICTURE
    turned = np.ascontiguousarray(PICTURE[::-1])[::-1]
    for model in (small_model, refined):
        expected = model.predict_one(PICTURE)
        for same in (frozen, np.asfortranarray(PICTURE), wide[..., :3], turned):
            np.testing.assert_array_equal(model.predict_one(same), expected)
    np.testing.assert_array_equal(frozen, PICTURE)


def test_a_file_is_its_picture(small_model, tmp_path):
    path = tmp_path / "one.png"
    Image.fromarray(PICTURE).save(path)
    expected = small_model.predict_one(PICTURE)
    for given in (path, str(path)):
        np.testing.assert_array_equal(small_model.predict_one(given), expected)


def test_answers_agree(small_model, refined):
    for model in (small_model, refined):
        labels, confidence = model.predict_with_confidence(PICTURE)
        of_labels = np.take_along_axis(model.predict_proba([PICTURE])[0], labels[..., None], axis=2)[..., 0]
        np.testing.assert_array_equal(confidence, of_labels)
        np.testing.assert_array_equal(model.confidence(PICTURE), confidence)
        np.testing.assert_array_equal(model.predict_one(PICTURE), labels)
        np.testing.assert_array_equal(model.predict([PICTURE] * 3)[2], labels)


def test_only_borders_are_refined(refined):
    found = refined.explain(PICTURE)
    described, graph = refined.describer_.graph(PICTURE)
    labels = refined.explain_potentials(refined.potentials(graph)).joint
    of_regions = described.paint(labels)
    assert (found.joint != of_regions).any()
    seen = {region: {labels[region]} for region in range(len(labels))}
    for one, other in graph.edges.tolist():
        seen[one].add(labels[other])
        seen[other].add(labels[one])
    for region, label in zip(described.full_regions.ravel().tolist(), found.joint.ravel().tolist(), strict=True):
        assert label in seen[region]


@pytest.mark.parametrize("method", ["predict_one", "confidence", "predict_with_confidence", "explain"])
def test_nothing_is_said_before_fit(method):
    with pytest.raises(NotFittedError):
        getattr(Segmenter(), method)(PICTURE)
    with pytest.raises(NotFittedError):
        Segmenter().predict_proba([PICTURE])


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        (PICTURE[:, :, :2], "have 3 channels of 8 bits, but this image has 2 channels of 8 bits"),
        (PICTURE[:0], r"image must be uint8 of shape \(H, W, 3\).*, got uint8 of shape \(0, 64, 3\)"),
        (PICTURE.astype(np.int64), r"image must be uint8 of shape \(H, W, 3\).*, got int64"),
        (PICTURE[None], r"got uint8 of shape \(1, 48, 64, 3\)"),
        (Path("absent.png"), "absent.png does not exist"),
    ],
)
def test_what_is_no_picture_is_refused(small_model, picture, message):
    with pytest.raises(ValueError, match=message):
        small_model.predict_one(picture)


def test_a_file_that_is_no_picture_is_refused(small_model, tmp_path):
    path = tmp_path / "notes.png"
    path.write_text("not a picture")
    with pytest.raises(ValueError, match=r"notes\.png is not an image that Pillow can read"):
        small_model.predict_one(path)
