"""Settings of features: what they default to, and what is refused."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import FEW_WORDS, IMAGES, assert_same_graphs

from neuralfactors.vision import CNNSettings, FeatureBuilder, FeatureSettings, WordSettings


def test_words_are_soft_unless_a_network_describes_the_nodes(builder):
    assert FEW_WORDS.words.softness == FeatureSettings().words.softness == 0.5
    assert FeatureSettings("cnn").words.softness == FeatureSettings("bow+cnn").words.softness == 0
    kinds = [replace(FEW_WORDS, words=replace(FEW_WORDS.words, softness=softness)) for softness in (None, 0.0)]
    soft, hard = (FeatureBuilder(settings).fit(IMAGES).transform(IMAGES[0]) for settings in kinds)
    assert_same_graphs(soft, builder.transform(IMAGES[0]))
    rows = [built.graph.node_features for built in (soft, hard)]
    assert (rows[0] > 1e-3).sum() > (rows[1] > 1e-3).sum()
    np.testing.assert_allclose((rows[0][:, :8] ** 2).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("softness", [-0.1, float("nan"), float("inf")])
def test_a_softness_that_is_none_is_refused(softness):
    with pytest.raises(ValueError, match="softness must be positive, or 0 for the nearest word only, got"):
        WordSettings(softness=softness)


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
        ({"n_regions": 0.5}, "n_regions must be a whole number, got 0.5"),
        ({"cnn": {"maps": "many"}}, "maps must be a whole number, got 'many'"),
        ({"words": {"root": "no"}}, "root must be true or false, got 'no'"),
        ({"refine": 3}, "refine must be true, false or null, got 3"),
        ({"n_own": -1}, "n_own must not be negative"),
        ({"compactness": 0.0}, "compactness must be positive"),
        ({"min_area": -0.5}, "min_area must not be negative, got -0.5"),
        ({"min_area": float("nan")}, "min_area must not be negative, got nan"),
        ({"cnn": {"surroundings": (0.2, 0.0)}}, "surroundings must be positive sides of squares, got"),
        ({"cnn": {"maps": 0}}, "maps must be at least 1, got 0"),
        ({"words": {"node_words": (60,)}}, "node_words must be two positive numbers"),
        ({"words": {"edge_words": (0, 5)}}, "edge_words must be two positive numbers"),
        ({"words": {"stride": 0}}, "stride must be at least 1, got 0"),
        ({"words": {"radius": 0}}, "radius must be at least 1, got 0"),
        ({"merge_from": 0}, "merge_from must be at least 1, got 0"),
        ({"max_side": 0}, "max_side must be at least 1, got 0"),
    ],
)
def test_wrong_settings_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        FeatureSettings(**option)


OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "features": st.sampled_from(["bow", "cnn", "bow+cnn", "own"]),
        "n_regions": st.integers(-1, 2000),
        "compactness": st.floats(0.1, 100),
        "boundaries": st.sampled_from([None, True, False]),
        "random_state": st.integers(0, 2**31),
        "words__softness": st.sampled_from([None, 0.0, 0.7]),
        "words__node_words": st.tuples(st.integers(1, 99), st.integers(1, 99)),
        "cnn__surroundings": st.lists(st.floats(0.01, 2), max_size=3),
        "cnn__maps": st.integers(1, 5),
    },
)


@given(options=OPTIONS)
def test_settings_come_back_from_json(options):
    settings = FeatureSettings.of(options)
    assert FeatureSettings.of(json.loads(json.dumps(settings.to_dict()))) == settings
    assert replace(settings) == settings
    flat = {"features": "bow", **options, "random_state": 0}
    assert FeatureSettings.of(flat).of_graphs == FeatureSettings.of({**flat, "random_state": 1}).of_graphs


def test_boundaries_are_described_where_there_is_a_network():
    kinds = [FeatureSettings(features=kind).boundaries for kind in ("bow", "cnn", "bow+cnn")]
    assert kinds == [False, True, True]
    graphs = [FeatureBuilder(replace(FEW_WORDS, boundaries=b)).fit(IMAGES).transform(IMAGES[0]).graph for b in (0, 1)]
    assert graphs[1].edge_features.shape[1] == graphs[0].edge_features.shape[1] + 8
    np.testing.assert_array_equal(graphs[1].edge_features[:, :-8], graphs[0].edge_features)


def test_options_of_a_part_are_named_with_it():
    given = {"features": "cnn", "words": {"root": False}, "words__stride": 3, "cnn__maps": 2}
    expected = FeatureSettings("cnn", words=WordSettings(root=False, stride=3), cnn=CNNSettings(maps=2))
    assert FeatureSettings.of(given) == expected
    assert FeatureSettings.of(expected.to_dict()) == FeatureSettings(**expected.to_dict()) == expected


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"hog": 1}, "features have no option 'hog'$"),
        ({"softness": 0.5}, "features have no option 'softness': it is 'words__softness'"),
        ({"scale": 2.0}, "features have no option 'scale': it is 'cnn__scale'"),
        ({"words__scale": 2.0}, "features have no option 'words__scale'"),
        ({"words": {"hog": 1}}, "features have no option 'words__hog'"),
        ({"words": 3}, "words must be a mapping of options, got 3"),
    ],
)
def test_unknown_options_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        FeatureSettings.of(option)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "bow"}, "finetune trains a network, but features is 'bow': use 'cnn' or 'bow\\+cnn'"),
        ({"backbone": "x.onnx"}, "finetune works with efficientnet-lite0 to 2 only, but backbone is 'x.onnx'"),
        ({"cnn__finetune": 9}, "finetune must be 0 to 8 of the network's last blocks, got 9"),
        (
            {"cnn__finetune_epochs": 0},
            "finetune_epochs must be at least 1 and finetune_rate positive, got 0 and 0.0001",
        ),
        ({"cnn__finetune_rate": 0.0}, "finetune_rate positive, got 5 and 0.0"),
    ],
)
def test_networks_that_cannot_be_fine_tuned_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        FeatureSettings.of({"features": "cnn", "cnn__finetune": 2, **options})


def test_graphs_do_not_depend_on_how_a_network_is_to_be_fine_tuned():
    plain, tuned = (FeatureSettings("cnn", cnn=CNNSettings(finetune=n, finetune_epochs=n + 1)) for n in (0, 2))
    assert plain.of_graphs == tuned.of_graphs
