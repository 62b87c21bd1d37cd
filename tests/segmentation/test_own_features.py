"""Features that users have computed: learnt from beside words or alone, cached, mirrored, saved; never left out."""

import numpy as np
import pytest

from neuralfactors import StructuralSVM
from neuralfactors.datasets import CELL_CLASSES, make_cells
from neuralfactors.segmentation import ArraySample, PreparedImage, Segmenter
from neuralfactors.vision import FeatureSettings

CELLS = make_cells(3, shape=(64, 64))
BLOCKS = np.add.outer(np.arange(64) // 8 * 8, np.arange(64) // 8)  # 64 squares
pytestmark = pytest.mark.filterwarnings("ignore:The regions, about", "ignore:The model has learnt hardly more")


def telling(labels):
    """Features (H, W, 2) that give the label away."""
    return np.stack([labels, -labels], axis=2).astype(np.float32)


def samples(features, regions=None, cells=CELLS):
    return [ArraySample(f"cells {n}", *pair, regions, features(pair[1])) for n, pair in enumerate(cells)]


def new(features="own", **options):
    settings = FeatureSettings(features, n_regions=60)
    return Segmenter(settings, estimator=StructuralSVM((8,), (8,), max_iter=10), classes=CELL_CLASSES, **options)


def of_blocks(labels):
    return np.array([telling(labels)[block == BLOCKS].mean(axis=0) for block in range(64)])


@pytest.fixture(scope="module")
def alone():
    return new().fit(samples(telling))


def test_alone_they_are_all_that_describes_a_region(alone):
    image, labels = CELLS[0]
    assert alone.stages_[-1].n_features_in_ == 2
    assert alone.describer_.builder.settings.n_own == 2
    right = (alone.predict_one(PreparedImage(image, features=telling(labels))) == labels).mean()
    assert right > 0.9 * alone.ceiling_.pixel


def test_beside_words_they_add_their_columns():
    both = new("bow").fit(samples(telling))
    assert both.stages_[-1].n_features_in_ == 90 + 2
    assert 0.5 < both.score(samples(telling)) <= both.ceiling_.pixel + 0.1


def test_rows_go_with_regions_of_ones_own():
    fitted = new().fit(samples(of_blocks, BLOCKS))
    image, labels = CELLS[1]
    by_rows = fitted.predict_one(PreparedImage(image, BLOCKS, of_blocks(labels)))
    np.testing.assert_array_equal(by_rows, fitted.predict_one(PreparedImage(image, BLOCKS, telling(labels))))
    with pytest.raises(ValueError, match="those of regions, but the regions are found"):
        new().fit(samples(of_blocks))


def test_a_model_says_what_it_needs(alone):
    image, labels = CELLS[0]
    with pytest.raises(ValueError, match="the features are your own, but the image comes with none"):
        alone.predict_one(image)
    with pytest.raises(ValueError, match="needs 2 features of your own with every image, but this one comes with 1"):
        alone.predict_one(PreparedImage(image, features=telling(labels)[..., :1]))
    both = new("bow").fit(samples(telling))
    with pytest.raises(ValueError, match="needs 2 features of your own with every image, but this one comes with none"):
        both.predict_one(image)
    words = new("bow").fit(CELLS)
    with pytest.raises(ValueError, match="needs no features of your own with every image, but this one comes with 2"):
        words.predict_one(PreparedImage(image, features=telling(labels)))


def test_all_images_have_them_or_none():
    mixed = [*samples(telling)[:2], ArraySample("plain", *CELLS[2])]
    with pytest.raises(ValueError, match="cells 0 comes with features, but not all images do"):
        new().fit(mixed)
    with pytest.raises(ValueError, match="the features are your own, but the image comes with none"):
        new().fit(CELLS)


def test_they_are_mirrored_cached_and_saved(tmp_path):
    cached = new(mirror=True, cache=tmp_path / "cache").fit(samples(telling))
    plain = new(mirror=True).fit(samples(telling))
    image, labels = CELLS[2]
    picture = PreparedImage(image, features=telling(labels))
    np.testing.assert_array_equal(cached.predict_one(picture), plain.predict_one(picture))
    other = new(mirror=True, cache=tmp_path / "cache").fit(samples(lambda labels: -telling(labels)))
    assert not np.array_equal(other.describer_.scaling.node_mean, cached.describer_.scaling.node_mean)
    cached.save(tmp_path / "model")
    loaded = Segmenter.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_one(picture), plain.predict_one(picture))


def test_huge_features_are_learnt_from_as_small_ones_are(alone):
    huge = new().fit(samples(lambda labels: 1e30 * telling(labels)))
    assert huge.score(samples(lambda labels: 1e30 * telling(labels))) == pytest.approx(
        alone.score(samples(telling)), abs=0.02
    )


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"features": np.full((64, 64, 2), np.nan)}, "cells 1: features must be finite"),
        ({"features": np.zeros((64, 64, 3))}, "cells 1: the model needs 2 features of your own"),
        ({"regions": np.zeros((8, 8), int)}, "cells 1: regions must be integers of the shape of their image"),
    ],
)
def test_an_image_in_memory_that_comes_with_something_wrong_is_named(given, told):
    usual = {"regions": BLOCKS} if "regions" in given else {"features": np.zeros((64, 64, 2))}
    each = [ArraySample(f"cells {n}", *CELLS[n], **(given if n == 1 else usual)) for n in range(3)]
    with pytest.raises(ValueError, match=told):
        new("own" if "features" in given else "bow").fit(each)
