"""What users are told of a model beside its figures."""

import numpy as np
import pytest

from neuralfactors import StructuralSVM
from neuralfactors.datasets import CELL_CLASSES, make_cells
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Segmenter
from neuralfactors.segmentation._diagnosis import largest_class_alone
from neuralfactors.vision import FeatureSettings

CELLS = make_cells(3, shape=(128, 128))
MODEL = StructuralSVM((8,), (8,), max_iter=1)


@pytest.mark.parametrize(
    ("confusion", "is_told"),
    [
        ([[79, 0], [21, 0]], True),
        ([[78, 1], [20, 1]], True),  # a class mean of 52 %: what a model reached that had learnt nothing
        ([[75, 4], [17, 4]], False),
        ([[100, 0], [0, 0]], False),  # there is nothing else
        ([[0, 0], [0, 0]], False),
    ],
)
def test_a_model_of_the_largest_class_alone_is_told(confusion, is_told):
    told = largest_class_alone(Scores(np.array(confusion, dtype=float)), ["cell", "membrane"])
    assert bool(told) == is_told
    if is_told:
        assert "% of the pixels cell, which 79.0 % are" in told


def test_fit_warns_of_coarse_regions_and_keeps_their_ceiling():
    segmenter = Segmenter(FeatureSettings(n_regions=20), estimator=MODEL, classes=CELL_CLASSES)
    with pytest.warns(UserWarning, match=r"The regions, about \d+ an image, are too coarse: .*membrane"):
        segmenter.fit(CELLS)
    assert segmenter.ceiling_.is_low
    assert segmenter.ceiling_.per_class[0] > 0.9 > segmenter.ceiling_.class_mean


def test_fit_warns_of_a_model_that_knows_one_class():
    rng = np.random.default_rng(0)
    noise = [(rng.integers(0, 256, image.shape, dtype=np.uint8), labels) for image, labels in CELLS]
    model = StructuralSVM((8,), (8,), max_iter=3)
    with pytest.warns(UserWarning, match="The regions, about") as told:
        Segmenter(FeatureSettings(n_regions=60), estimator=model, classes=CELL_CLASSES).fit(noise)
    assert [str(each.message)[:11] for each in told] == ["The regions", "The model h"]
