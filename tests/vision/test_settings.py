"""Settings of features: what they default to, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest
from pictures import FEW_WORDS, IMAGES, assert_same_graphs

from neuralfactors.vision import FeatureBuilder, FeatureSettings


def test_words_are_soft_unless_a_network_describes_the_nodes(builder):
    assert FEW_WORDS.softness == FeatureSettings().softness == 0.5
    assert FeatureSettings(features="cnn").softness == FeatureSettings.fine().softness == 0
    soft, hard = (FeatureBuilder(replace(FEW_WORDS, softness=s)).fit(IMAGES).transform(IMAGES[0]) for s in (None, 0.0))
    assert_same_graphs(soft, builder.transform(IMAGES[0]))
    rows = [built.graph.node_features for built in (soft, hard)]
    assert (rows[0] > 1e-3).sum() > (rows[1] > 1e-3).sum()
    np.testing.assert_allclose((rows[0][:, :8] ** 2).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("softness", [-0.1, float("nan"), float("inf")])
def test_a_softness_that_is_none_is_refused(softness):
    with pytest.raises(ValueError, match="softness must be positive, or 0 for the nearest word only, got"):
        FeatureSettings(softness=softness)


def test_a_network_describes_finer_regions():
    assert [FeatureSettings(kind).usual_regions for kind in ("bow", "cnn", "bow+cnn")] == [300, 1000, 1000]


def test_without_labels_images_have_the_usual_number_of_regions():
    assert FeatureSettings().n_regions == 0
    assert FeatureBuilder().settings.n_regions == 300
    assert FeatureBuilder(FeatureSettings("cnn", n_regions=50)).settings.n_regions == 50


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"features": "hog"}, "features must be one of 'bow', 'cnn', 'bow\\+cnn', 'own', got 'hog'"),
        ({"n_regions": -2}, "n_regions must be at least 1, 0 to be chosen, or −1 for your own, got -2"),
        ({"cnn": {"scale": -1.0}}, "scale must be positive, or 0"),
        ({"n_own": -1}, "n_own must not be negative"),
        ({"compactness": 0.0}, "compactness must be positive"),
        ({"node_words": (60,)}, "node_words must be two positive numbers"),
        ({"edge_words": (0, 5)}, "edge_words must be two positive numbers"),
    ],
)
def test_wrong_settings_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        FeatureSettings(**option)


def test_boundaries_are_described_where_there_is_a_network():
    kinds = [FeatureSettings(features=kind).boundaries for kind in ("bow", "cnn", "bow+cnn")]
    assert kinds == [False, True, True]
    assert not FeatureSettings.fine().boundaries  # the paper's setting
    graphs = [FeatureBuilder(replace(FEW_WORDS, boundaries=b)).fit(IMAGES).transform(IMAGES[0]).graph for b in (0, 1)]
    assert graphs[1].edge_features.shape[1] == graphs[0].edge_features.shape[1] + 8
    np.testing.assert_array_equal(graphs[1].edge_features[:, :-8], graphs[0].edge_features)


def test_regions_cannot_be_merged_from_fewer():
    with pytest.raises(ValueError, match="merge_from must be at least 1, got 0"):
        FeatureSettings(merge_from=0)
