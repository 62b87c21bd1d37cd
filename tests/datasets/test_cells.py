import numpy as np
import pytest
from scipy.ndimage import distance_transform_edt

from neuralfactors.datasets import CELL_CLASSES, ImageFolder, make_cells, write_cells
from neuralfactors.datasets._cells import CELL, MEMBRANE
from neuralfactors.metrics import Scores
from neuralfactors.vision import find_regions, majority_labels

CELLS = make_cells(4)


def test_the_same_for_a_seed_whatever_the_number():
    (image, labels), *_ = make_cells(1)
    np.testing.assert_array_equal(image, CELLS[0][0])
    np.testing.assert_array_equal(labels, CELLS[0][1])
    assert (make_cells(1, random_state=1)[0][0] != image).any()


def test_a_fifth_of_the_pixels_is_membrane_and_none_void():
    for _, labels in CELLS:
        assert set(np.unique(labels)) == {CELL, MEMBRANE}
        assert 0.15 < labels.mean() < 0.25


def test_membranes_are_thin_and_dark_and_the_light_uneven():
    for image, labels in CELLS:
        assert np.percentile(distance_transform_edt(labels == MEMBRANE)[labels == MEMBRANE], 90) < 5
        grey = image[..., 0].astype(float)
        assert grey[labels == CELL].mean() > grey[labels == MEMBRANE].mean() + 30
        corners = [np.median(grey[i : i + 128, j : j + 128]) for i in (0, 384) for j in (0, 384)]
        assert max(corners) - min(corners) > 10


@pytest.mark.parametrize(("n_regions", "ceiling"), [(300, 0.72), (1000, 0.82), (3000, 0.89)])
def test_regions_follow_them_about_as_badly_as_those_of_electron_micrographs(n_regions, ceiling):
    pairs = []
    for image, labels in CELLS:
        regions = find_regions(image, n_regions)
        pairs.append((labels, majority_labels(regions, labels)[regions]))
    assert Scores.of(pairs, 2).class_mean_accuracy == pytest.approx(ceiling, abs=0.025)


def test_the_folder_has_classes_and_splits(tmp_path):
    folder = ImageFolder(write_cells(tmp_path, 5, shape=(64, 96), random_state=3))
    assert folder.classes.names == list(CELL_CLASSES)
    assert [len(folder[split]) for split in ("train", "val", "test")] == [3, 1, 1]
    drawn = make_cells(5, shape=(64, 96), random_state=3)
    for sample in folder["train+val+test"]:
        image, labels = sample.read()
        np.testing.assert_array_equal(image, drawn[int(sample.name[-4:])][0])
        np.testing.assert_array_equal(labels, drawn[int(sample.name[-4:])][1])
