"""Explanations: four pictures of one size side by side, in class colours."""

import numpy as np
import pytest

from neuralfactors.datasets import make_scenes
from neuralfactors.segmentation import Explanation

PALETTE = np.array([[255, 0, 0], [0, 255, 0]], np.uint8)


@pytest.mark.parametrize("shape", [(6, 9), (1, 1)])
def test_pictures_stand_side_by_side(shape):
    height, width = shape
    image = np.random.default_rng(0).integers(256, size=(*shape, 3)).astype(np.uint8)
    maps = [np.full(shape, label) for label in (0, 1, 0)]
    maps[2][-1, -1] = 1
    picture = Explanation(*maps, image, PALETTE).picture()
    gap = (picture.shape[1] - 4 * width) // 3
    assert (picture.dtype, picture.shape) == (np.uint8, (height, 4 * width + 3 * gap, 3))
    starts = [k * (width + gap) for k in range(4)]
    parts = [picture[:, start : start + width] for start in starts]
    np.testing.assert_array_equal(parts[0], image)
    for part, labels in zip(parts[1:], maps, strict=True):
        np.testing.assert_array_equal(part, PALETTE[labels])
    gaps = np.ones(picture.shape[1], bool)
    for start in starts:
        gaps[start : start + width] = False
    assert gap > 0
    assert (picture[:, gaps] == 255).all()


def test_where_parts_agree_context_has_decided_nothing(small_model):
    image = make_scenes(1, shape=(48, 64), random_state=5)[0][0]
    explained = small_model.explain(image)
    np.testing.assert_array_equal(explained.joint, small_model.predict_one(image))
    np.testing.assert_array_equal(explained.image, image)
    assert explained.palette.shape == (len(small_model.class_names), 3)
    drawn, labels = explained.picture()[:, -64:], explained.joint
    np.testing.assert_array_equal(drawn, explained.palette[labels])
