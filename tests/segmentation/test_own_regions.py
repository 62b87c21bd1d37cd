"""Regions that users have made: learnt from, predicted, cached, saved, and never mixed with those that are found."""

import numpy as np
import pytest

from neuralfactors import StructuralSVM
from neuralfactors.datasets import CELL_CLASSES, make_cells
from neuralfactors.segmentation import ArraySample, PreparedImage, Segmenter
from neuralfactors.segmentation._labelled_images import picture_source

CELLS = make_cells(3, shape=(64, 64))
BLOCKS = np.add.outer(np.arange(64) // 8 * 8, np.arange(64) // 8)  # 64 squares
pytestmark = pytest.mark.filterwarnings("ignore:The regions, about", "ignore:The model has learnt hardly more")


def samples(*regions):
    return [ArraySample(f"cells {n}", *pair, own) for n, (pair, own) in enumerate(zip(CELLS, regions, strict=False))]


def new(**options):
    return Segmenter(estimator=StructuralSVM((8,), (8,), max_iter=2), classes=CELL_CLASSES, **options)


@pytest.fixture(scope="module")
def fitted():
    return new().fit(samples(BLOCKS, 7 * BLOCKS[::-1] - 3, BLOCKS.astype(np.uint8)))


def test_labels_are_those_of_the_given_regions(fitted):
    assert fitted.describer_.builder.settings.own_regions
    picture = PreparedImage(CELLS[0][0], BLOCKS)
    labels = fitted.predict_one(picture)
    assert all(len(np.unique(labels[region == BLOCKS])) == 1 for region in range(64))
    np.testing.assert_array_equal(fitted.predict([picture])[0], labels)
    np.testing.assert_array_equal(fitted.explain(picture).joint, labels)
    assert fitted.describer_.graph(picture_source(picture))[1].n_nodes == 64
    assert 0 < fitted.score(samples(BLOCKS)) <= fitted.ceiling_.pixel + 0.2


def test_advice_is_about_your_own_regions(tmp_path):
    with pytest.warns(UserWarning, match="are too coarse: .*split your regions there, or leave them out"):
        segmenter = new().fit(samples(BLOCKS, BLOCKS, BLOCKS))
    segmenter.save(tmp_path)
    assert Segmenter.load(tmp_path).describer_.stop == segmenter.describer_.stop == "own"


def test_the_numbers_of_regions_mean_nothing(fitted):
    image = CELLS[0][0]
    shuffled = np.random.default_rng(0).permutation(64)[BLOCKS]
    maps = fitted.predict([PreparedImage(image, regions) for regions in (BLOCKS, 5 * shuffled + 2, -shuffled)])
    np.testing.assert_array_equal(maps[0], maps[1])
    np.testing.assert_array_equal(maps[0], maps[2])


def test_found_and_given_regions_are_not_mixed(fitted):
    image = CELLS[0][0]
    with pytest.raises(ValueError, match="of regions of your own, but the image comes with none"):
        fitted.predict_one(image)
    with pytest.raises(ValueError, match="cells 0 comes with regions, but not all images do"):
        new().fit(samples(BLOCKS, None))
    found = new().fit(samples(None, None))
    with pytest.raises(ValueError, match="that are found, but the image comes with some of your own"):
        found.predict_one(PreparedImage(image, BLOCKS))


@pytest.mark.parametrize("regions", [BLOCKS[:-1], BLOCKS.astype(float), BLOCKS[..., None]])
def test_regions_of_another_kind_are_refused(fitted, regions):
    with pytest.raises(ValueError, match=r"regions must be integers of the shape of their image, \(64, 64\), got"):
        fitted.predict_one(PreparedImage(CELLS[0][0], regions))


def test_they_are_mirrored_cached_and_saved(tmp_path):
    cached = new(mirror=True, cache=tmp_path / "cache").fit(samples(BLOCKS, BLOCKS // 2))
    plain = new(mirror=True).fit(samples(BLOCKS, BLOCKS // 2))
    picture = PreparedImage(CELLS[2][0], BLOCKS)
    np.testing.assert_array_equal(cached.predict_one(picture), plain.predict_one(picture))
    other = new(mirror=True, cache=tmp_path / "cache").fit(samples(BLOCKS, BLOCKS))  # the same image, other regions
    assert other.ceiling_ != cached.ceiling_
    cached.save(tmp_path / "model")
    loaded = Segmenter.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_one(picture), plain.predict_one(picture))
