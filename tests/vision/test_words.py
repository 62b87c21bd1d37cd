import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import random_regions
from sklearn.cluster import KMeans

from neuralfactors.vision.words import learn_words, nearest_word, to_pixels, word_histograms


def test_words_are_the_centres_of_clusters():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(5, 8)) * 10
    points = (centres[rng.integers(5, size=2000)] + 0.1 * rng.normal(size=(2000, 8))).astype(np.float32)
    words = learn_words(points, 5)
    gaps = np.linalg.norm(words[:, None] - centres, axis=2)
    assert sorted(gaps.argmin(axis=1)) == list(range(5))
    assert gaps.min(axis=1).max() < 0.1


def test_words_are_the_same_for_a_seed():
    points = np.random.default_rng(0).random((3000, 6), dtype=np.float32)
    np.testing.assert_array_equal(learn_words(points, 7, 3), learn_words(points, 7, 3))
    assert (learn_words(points, 7, 3) != learn_words(points, 7, 4)).any()


@pytest.mark.parametrize("n_distinct", [1, 3, 4])
def test_fewer_points_than_words(n_distinct):
    distinct = np.arange(n_distinct * 2, dtype=np.float32).reshape(-1, 2)
    points = np.tile(distinct, (500, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        words = learn_words(points, 4)
    assert words.shape == (4, 2)
    np.testing.assert_array_equal(nearest_word(distinct, words), np.arange(n_distinct))


def test_no_points_are_refused():
    with pytest.raises(ValueError, match="at least one descriptor"):
        learn_words(np.zeros((0, 3), dtype=np.float32), 4)


def test_nearest_word_is_that_of_scikit_learn():
    points = np.random.default_rng(0).random((800, 30), dtype=np.float32)
    means = KMeans(12, n_init=1, random_state=0).fit(points)
    np.testing.assert_array_equal(nearest_word(points, means.cluster_centers_), means.predict(points))


@given(seed=st.integers(0, 2**16))
def test_histograms_by_counting(seed):
    regions = random_regions(seed=seed)
    words = np.random.default_rng(seed).integers(4, size=regions.shape)
    histograms = word_histograms(regions, words, regions.max() + 1, 4)
    for region in range(regions.max() + 1):
        inside = words[regions == region]
        shares = [(inside == word).mean() for word in range(4)]
        np.testing.assert_allclose(histograms[region], shares, rtol=1e-6)


def test_cells_to_pixels():
    cells = np.arange(6).reshape(2, 3)
    pixels = to_pixels(cells, 4, (7, 10))
    assert pixels.shape == (7, 10)
    assert all(pixels[y, x] == cells[y // 4, x // 4] for y in range(7) for x in range(10))
