"""Segmentation of a dozen real pictures."""

import time

import numpy as np
import pytest
from learners import make

from neuralfactors.datasets import ImageFolder
from neuralfactors.estimators import StructuralSVM
from neuralfactors.segmentation import Segmenter


@pytest.mark.realdata
def test_a_dozen_pictures_of_msrc21(data_dir, tmp_path):
    folder = ImageFolder(data_dir / "msrc21", drop=["horse", "mountain"])
    samples = folder["train"][:12]
    model = make(StructuralSVM, (32,), (32,), C=100.0, trainer__learning_rate=5e-3, max_iter=8, batch_size=1)
    Segmenter(estimator=model).fit(samples).save(tmp_path)
    segmenter = Segmenter.load(tmp_path)
    right = total = 0
    for sample in samples:
        image, labels = sample.read()
        start = time.thread_time()
        predicted = segmenter.predict_one(image)
        assert time.thread_time() - start < 1.0
        assert predicted.shape == labels.shape
        right += int((predicted == labels).sum())
        total += int((labels >= 0).sum())
    assert right / total > 0.9  # of what it has learnt from
    assert np.isfinite(segmenter.confidence(samples[0].image_path)).all()
