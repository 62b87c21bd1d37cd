"""Copies to learn from besides: mirror images, and images of another size and tone."""

import numpy as np
import pytest

from neuralfactors import Segmenter, StructuralSVM
from neuralfactors.datasets import make_scenes
from neuralfactors.segmentation._copies import SCALE, Mirrored, Varied, with_copies
from neuralfactors.segmentation._labelled_images import ArraySample, image_source
from neuralfactors.vision import FeatureSettings
from neuralfactors.vision._sources import image_key


@pytest.fixture(name="sample")
def _sample():
    (image, labels), *_ = make_scenes(1, shape=(48, 64))
    return ArraySample("one", image, labels)


def test_mirror_images_follow_their_originals():
    (image, labels), *_ = make_scenes(1, shape=(48, 64))
    sample, mirrored = with_copies([ArraySample("one", image, labels)], mirror=True)
    assert (sample.name, mirrored.name) == ("one", "one (mirrored)")
    np.testing.assert_array_equal(mirrored.read_image(), image[:, ::-1])
    np.testing.assert_array_equal(mirrored.read_labels(), labels[:, ::-1])
    segmenter = Segmenter(FeatureSettings(n_regions=20), estimator=StructuralSVM((), (), max_iter=2), mirror=True)
    fitted = segmenter.fit([(image, labels), (image, labels)])
    given = Segmenter(FeatureSettings(n_regions=20), estimator=StructuralSVM((), (), max_iter=2))
    given.fit([(image, labels), (image[:, ::-1].copy(), labels[:, ::-1].copy())] * 2)
    np.testing.assert_array_equal(fitted.predict_one(image), given.predict_one(image))


def test_without_copies_samples_are_as_they_were(sample):
    samples = [sample]
    assert with_copies(samples, mirror=False) is samples


def test_copies_follow_their_original(sample):
    names = [each.name for each in with_copies([sample, sample], mirror=True, varied=2)]
    assert names == 2 * ["one", "one (mirrored)", "one (varied 0)", "one (varied 1) (mirrored)"]
    assert [each.name for each in with_copies([sample], mirror=False, varied=2)][1:] == [
        "one (varied 0)",
        "one (varied 1)",
    ]


def test_varied_images_differ_in_size_and_tone_but_not_in_what_they_show(sample):
    image, labels = sample.read_image(), sample.read_labels()
    sizes = set()
    for number in range(5):
        copy = Varied(sample, number)
        varied = copy.read_image()
        assert varied.dtype == np.uint8
        assert varied.shape[:2] == copy.read_labels().shape
        sizes.add(varied.shape)
        assert 1 / SCALE - 0.05 < varied.shape[0] / image.shape[0] < SCALE + 0.05
        shares = [np.bincount(each.ravel() + 1, minlength=8) / each.size for each in (labels, copy.read_labels())]
        np.testing.assert_allclose(*shares, atol=0.03)
        np.testing.assert_array_equal(varied, Varied(sample, number).read_image())
    assert len(sizes) > 1


def test_caches_tell_copies_apart(sample):
    copies = [sample, *with_copies([sample], mirror=True, varied=3)[1:], Mirrored(Varied(sample, 0))]
    assert len({image_key(image_source(copy)) for copy in copies}) == len(copies) == 6


def test_a_segmenter_learns_from_varied_images(sample):
    model = StructuralSVM((), (), max_iter=2)
    segmenter = Segmenter(FeatureSettings(n_regions=20), estimator=model, varied=2)
    segmenter.fit([sample, sample])
    same = Segmenter(FeatureSettings(n_regions=20), estimator=model)
    same.fit(with_copies([sample, sample], mirror=False, varied=2))
    np.testing.assert_array_equal(segmenter.predict_one(sample.image), same.predict_one(sample.image))


def test_what_cannot_be_varied_is_refused(sample):
    regions = np.zeros(sample.labels.shape, dtype=int)
    with pytest.raises(ValueError, match="one comes with regions, which cannot be varied: set varied to 0"):
        Varied(ArraySample("one", sample.image, sample.labels, regions), 0)
    deep = ArraySample("one", sample.image.astype(np.uint16), sample.labels)
    with pytest.raises(ValueError, match="one is not RGB of 8 bits and cannot be varied: set varied to 0"):
        Varied(deep, 0).read_image()


@pytest.mark.parametrize("varied", [-1, 1.5])
def test_a_number_of_copies_is_a_whole_number(varied):
    with pytest.raises(ValueError, match=f"varied must be an integer ≥ 0, got {varied}"):
        Segmenter(varied=varied).fit(make_scenes(1, shape=(48, 64)))
