"""Images as arrays, and images that are read when they are needed."""

from functools import partial

import numpy as np
import pytest
from pictures import FEW_WORDS, IMAGES, assert_same_graphs, smooth_picture

from neuralfactors.vision import FeatureBuilder
from neuralfactors.vision._sources import KeyedSource, image_key, read


def test_images_may_be_read_when_needed(builder):
    sources = [partial(smooth_picture, (40, 50), seed) for seed in range(4)]
    lazy = FeatureBuilder(FEW_WORDS).fit(sources)
    assert_same_graphs(lazy.transform(sources[3]), builder.transform(IMAGES[3]))


def test_a_digest_that_is_known_spares_the_reading():
    source = KeyedSource(partial(pytest.fail, "it was read"), partial(str, "digest"))
    assert image_key(source) == "digest"
    assert image_key(IMAGES[0]) == image_key(IMAGES[0].copy()) != image_key(IMAGES[1])
    np.testing.assert_array_equal(read(KeyedSource(partial(smooth_picture, (40, 50), 1), str)), IMAGES[1])
