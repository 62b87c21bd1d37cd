"""Examples of a run: a few pictures at equal distances, small, with truth and predictions pixel by pixel."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from neuralfactors._experiment.examples import MAX_SIDE, chosen, write_examples, write_predictions
from neuralfactors._runs import RunFolder
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import ArraySample, Evaluation, LabelledGraphs


@given(n_images=st.integers(0, 60), n_examples=st.integers(0, 20))
def test_images_are_chosen_at_equal_distances(n_images, n_examples):
    found = chosen(n_images, n_examples)
    assert len(found) == min(n_images, n_examples)
    assert found == sorted(set(found))
    assert all(0 <= n < n_images for n in found)
    if len(found) > 1:
        steps = np.diff(found)
        assert steps.max() - steps.min() <= 1
        assert found[0] == 0


def sample(name, shape, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    image = rng.integers(256, size=(*shape, 3)).astype(np.uint8)
    return ArraySample(name, image, rng.integers(-1, n_classes, size=shape))


def read(path):
    return np.asarray(Image.open(path)).astype(int)


@pytest.mark.parametrize(("n_classes", "void"), [(3, 255), (255, 255), (256, 65535)])
def test_truth_and_predictions_are_class_numbers(tmp_path, n_classes, void):
    samples = [sample(f"{k}", (20, 30), n_classes, k) for k in range(5)]
    palette = np.zeros((n_classes, 3), np.uint8)
    palette[0] = 9, 8, 7
    folder, graphs = RunFolder(tmp_path), LabelledGraphs(samples, [], [], [])
    write_examples(folder, graphs, palette, 2)
    assert folder.examples.read().names == ("0", "2")
    scores = Scores(np.zeros((n_classes, n_classes)))
    maps = {k: np.full((20, 30), k) for k in (0, 2)}
    found = Evaluation(scores, scores, scores, np.zeros((n_classes, n_classes)), 5, maps)
    write_predictions(folder.row("unary"), found, graphs, palette)
    for name in ("0", "2"):
        truth = samples[int(name)].read_labels()
        assert read(folder.example_image(name)).shape == (20, 30, 3)
        np.testing.assert_array_equal(read(folder.example_truth(name)), np.where(truth < 0, void, truth))
        np.testing.assert_array_equal(read(folder.row("unary").prediction(name)), int(name))
    if n_classes <= 255:
        colours = np.asarray(Image.open(folder.row("unary").prediction("0")).convert("RGB"))
        assert (colours == [9, 8, 7]).all()


@pytest.mark.parametrize("shape", [(30, 1000), (900, 2), (1, 1), (MAX_SIDE, MAX_SIDE + 1)])
def test_large_pictures_are_made_small_and_maps_with_them(tmp_path, shape):
    folder, large = RunFolder(tmp_path), sample("large", shape)
    write_examples(folder, LabelledGraphs([large], [], [], []), np.zeros((3, 3), np.uint8), 12)
    image, truth = read(folder.example_image("large")), read(folder.example_truth("large"))
    assert image.shape[:2] == truth.shape
    assert max(truth.shape) <= MAX_SIDE
    assert min(truth.shape) >= 1
    assert set(np.unique(truth)) <= {0, 1, 2, 255}  # no class is blended with another
