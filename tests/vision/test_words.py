import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import random_regions
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from neuralfactors.vision._words import STRIP, learn_words, region_cells, word_histograms, word_shares


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
    np.testing.assert_array_equal(word_shares(distinct, words), np.eye(n_distinct, 4))


def test_no_points_are_refused():
    with pytest.raises(ValueError, match="at least one descriptor"):
        learn_words(np.zeros((0, 3), dtype=np.float32), 4)


def test_nearest_word_is_that_of_scikit_learn():
    points = np.random.default_rng(0).random((800, 30), dtype=np.float32)
    means = KMeans(12, n_init=1, random_state=0).fit(points)
    np.testing.assert_array_equal(word_shares(points, means.cluster_centers_).argmax(axis=1), means.predict(points))


def test_soft_shares_by_their_formula():
    rng = np.random.default_rng(0)
    points, words = rng.random((50, 4), dtype=np.float32), rng.random((6, 4), dtype=np.float32)
    between = np.linalg.norm(words[:, None] - words, axis=2) + np.diag(np.full(6, np.inf))
    width = 0.7 * np.sqrt((between.min(axis=1) ** 2).mean())
    weights = np.exp(-((np.linalg.norm(points[:, None] - words, axis=2) / width) ** 2))
    expected = weights / weights.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(word_shares(points, words, 0.7), expected, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize("softness", [1e-3, 1e-30, 1e-200])
def test_little_softness_is_the_nearest_word(softness):
    rng = np.random.default_rng(1)
    points, words = rng.random((200, 5), dtype=np.float32), rng.random((7, 5), dtype=np.float32)
    np.testing.assert_allclose(word_shares(points, words, softness), word_shares(points, words), atol=1e-6)


def test_much_softness_makes_all_words_alike():
    words = np.eye(4, dtype=np.float32)
    np.testing.assert_allclose(word_shares(2 * words, words, 1e30), np.full((4, 4), 0.25))


@pytest.mark.parametrize("n_distinct", [1, 2])
def test_soft_shares_among_repeated_words(n_distinct):
    words = np.arange(n_distinct, dtype=np.float32)[[0, *range(n_distinct), 0], None]
    shares = word_shares(np.array([[0.0], [5.0]], dtype=np.float32), words, 0.5)
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    assert shares[0].max() == shares[0, 0] == shares[0, -1]


@given(seed=st.integers(0, 2**16), stride=st.integers(1, 5), softness=st.sampled_from([0.0, 0.5]))
def test_histograms_by_counting(seed, stride, softness):
    regions = random_regions(seed=seed)
    rng = np.random.default_rng(seed)
    height, width = (-(-n // stride) for n in regions.shape)
    points, words = (rng.random((n, 3), dtype=np.float32) for n in (height * width, 4))
    shares = word_shares(points, words, softness).reshape(height, width, 4)
    expected = np.zeros((regions.max() + 1, 4))
    for y, x in np.ndindex(regions.shape):
        expected[regions[y, x]] += shares[y // stride, x // stride]
    expected /= np.bincount(regions.ravel())[:, None]
    found = word_histograms(points, words, region_cells(regions, stride), softness)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_more_points_than_fit_at_once():
    regions = np.zeros((2, STRIP), dtype=np.int32)
    points = np.random.default_rng(0).random((2 * STRIP, 2), dtype=np.float32)
    words = points[:3]
    found = word_histograms(points, words, region_cells(regions), 0.5)
    np.testing.assert_allclose(found[0], word_shares(points, words, 0.5).mean(axis=0), rtol=1e-3)


def test_the_number_of_threads_does_not_change_histograms():
    rng = np.random.default_rng(0)
    points, words = rng.random((4096, 200), dtype=np.float32), rng.random((60, 200), dtype=np.float32)
    cells = region_cells(np.arange(4096, dtype=np.int32).reshape(64, 64) // 16)
    one, several = (_histograms_by_threads(points, words, cells, n) for n in (1, 2))
    np.testing.assert_array_equal(one, several)


def _histograms_by_threads(points, words, cells, n_threads):
    with threadpool_limits(n_threads):
        return word_histograms(points, words, cells, 0.5)
