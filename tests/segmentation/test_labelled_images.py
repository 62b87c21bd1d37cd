"""Labelled images from arrays: what is taken, and what is refused with which sentence."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from neuralfactors.datasets import make_scenes
from neuralfactors.estimators import StructuralSVM
from neuralfactors.segmentation import ArraySample, PreparedImage, Segmenter
from neuralfactors.segmentation._labelled_images import image_source, to_samples
from neuralfactors.vision import FeatureBuilder, FeatureSettings

IMAGE = make_scenes(1, shape=(48, 64))[0][0]
HALVES = np.repeat([[0, 1]], 32, axis=1).repeat(48, axis=0)  # (48, 64)


def fit(dataset, **options):
    model = StructuralSVM((), (), max_iter=2)
    return Segmenter(FeatureSettings(n_regions=20), estimator=model, **options).fit(dataset)


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint16, np.int32, bool])
@pytest.mark.parametrize("classes", [None, ("left", "right"), np.array(["left", "right"])])
def test_labels_of_any_integer_type(dtype, classes):
    expected = fit([(IMAGE, HALVES)], classes=classes).predict_one(IMAGE)
    found = fit([(IMAGE, HALVES.astype(dtype))], classes=classes, balance=0.0)
    np.testing.assert_array_equal(found.predict_one(IMAGE), expected)
    assert found.class_names == (["0", "1"] if classes is None else ["left", "right"])


@pytest.mark.parametrize("kind", [PreparedImage, partial(ArraySample, "image 1", labels=HALVES)])
@pytest.mark.parametrize("what", ["regions", "features"])
def test_what_comes_with_a_picture_must_not_be_masked(kind, what):
    given = {"regions": HALVES, "features": HALVES[..., None]}[what]
    settings = FeatureSettings(features="own" if what == "features" else "bow", n_own=int(what == "features"))
    settings = replace(settings, n_regions=-1 if what == "regions" else 20)
    builder = FeatureBuilder(settings)
    builder.fit([image_source(kind(image=IMAGE, **{what: given}))])
    with pytest.raises(ValueError, match=f"{what} must not have masked entries"):
        builder.transform(image_source(kind(image=IMAGE, **{what: np.ma.masked_equal(given, 1)})))


def test_lists_are_pairs_too():
    (sample,), classes = to_samples([[IMAGE, HALVES.tolist()]], "train")
    assert classes.names == ["0", "1"]
    np.testing.assert_array_equal(sample.read_labels(), HALVES)
    assert sample.read_labels().dtype == np.int64


class Unsigned:
    """A sample that is not ours, with labels of 8 bits."""

    name = "cow"

    def __init__(self, labels):
        self.labels = labels

    def read_image(self):
        return IMAGE

    def read_labels(self):
        return self.labels


def test_samples_of_ones_own():
    found = fit([Unsigned(HALVES.astype(np.uint8))])
    np.testing.assert_array_equal(found.predict_one(IMAGE), fit([(IMAGE, HALVES)]).predict_one(IMAGE))
    with pytest.raises(ValueError, match="the labels of cow must be integers"):
        fit([Unsigned(HALVES / 2)])


def test_validation_images_may_hold_labels_that_training_images_do_not():
    model = Segmenter(FeatureSettings(n_regions=20), estimator=StructuralSVM((), (), max_iter=1))
    model.fit([(IMAGE, HALVES)], validation=[(IMAGE, HALVES.astype(np.uint8) + 2)])
    assert model.class_names == ["0", "1"]
    assert model.stages_[0].history_[-1]["accuracy"] == 0


VOID = np.full_like(HALVES, -1)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (HALVES - 2, r"the labels of image 1 must be 0, 1, ..., or −1 for void, got -2"),
        (HALVES / 1.0, r"the labels of image 1 must be integers of shape \(H, W\), −1 for void, got float64"),
        (
            np.ma.masked_equal(HALVES, 1),
            "the label map of image 1 must not have masked entries: fill them, with -1",
        ),
        (HALVES[None], r"the labels of image 1 must be integers of shape .* got int64 of shape \(1, 48, 64\)"),
        (HALVES[:, :10], r"the label map of image 1 is 10 × 48, but the image is 64 × 48"),
        (HALVES.astype(np.uint8) * 255, r"there is a label 255 in image 1: make it −1 if it means void, else name"),
    ],
)
def test_labels_that_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        to_samples([(IMAGE, HALVES), (IMAGE, labels)], "train")


@pytest.mark.parametrize(
    ("dataset", "classes", "message"),
    [
        ([], None, "the dataset contains no image"),
        ([(IMAGE, VOID)], None, r"every pixel of every image is void \(−1\): there is no label to learn"),
        (
            [(IMAGE, HALVES, 3)],
            None,
            r"item 0 of the dataset must be a pair \(image, labels\) or a sample, got 3 items",
        ),
        ((IMAGE, HALVES), None, "item 0 of the dataset must be a pair .* got ndarray"),
        ([(IMAGE.astype(int), HALVES)], None, "image 0: image must be uint8 of shape"),
        ([(IMAGE, np.uint8(255) * HALVES)], ("a", "b"), "classes names 2 labels, but .* 255 in image 0; void is −1"),
        ([(IMAGE, HALVES)], "ab", r"classes must be a sequence of names, got 'ab': put it into a list"),
        ([(IMAGE, HALVES)], ("a", "b", "a"), "classes must have a name of its own for each label, but 'a' occurs more"),
        ([(IMAGE, HALVES)], ("void", "a"), "classes must not name 'void': void pixels are −1, not a label"),
    ],
)
def test_datasets_that_are_refused(dataset, classes, message):
    with pytest.raises(ValueError, match=message):
        to_samples(dataset, "train", classes)


def test_256_classes_have_names():
    labels = np.arange(IMAGE.shape[0] * IMAGE.shape[1], dtype=np.uint64).reshape(IMAGE.shape[:2]) % 256
    assert len(to_samples([(IMAGE, labels.astype(np.uint8))], "train", list(map(str, range(256))))[1].names) == 256


def test_a_sample_is_checked_where_it_is_made():
    with pytest.raises(ValueError, match="the labels of cow must be integers"):
        ArraySample("cow", IMAGE, HALVES / 2)


def test_samples_from_arrays():
    scene = make_scenes(1, shape=(20, 30))[0]
    samples, classes = to_samples([scene], "train", ["a", "b", "c", "d", "e", "f", "g"])
    assert isinstance(samples[0], ArraySample)
    assert classes.names == list("abcdefg")
