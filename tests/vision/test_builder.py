import json
import logging
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from pictures import Pyramid, smooth_picture

from neuralfactors.vision import CNNSettings, FeatureBuilder, FeatureSettings, features
from neuralfactors.vision import builder as builder_module
from neuralfactors.vision.descriptors import dense_daisy, hsv_cone
from neuralfactors.vision.layout import region_edges, region_medians

SMALL = FeatureSettings(n_regions=20, node_words=(8, 6), edge_words=(4, 3))
IMAGES = [smooth_picture((40, 50), seed) for seed in range(4)]


def assert_same(one, two):
    for name, array in one.to_arrays().items():
        np.testing.assert_array_equal(array, two.to_arrays()[name])


@pytest.fixture(scope="module")
def builder():
    return FeatureBuilder(SMALL).fit(IMAGES)


def test_the_papers_sizes():
    built = FeatureBuilder().fit(IMAGES).transform(IMAGES[0])
    assert built.graph.node_features.shape[1] == 60 + 30
    assert built.graph.edge_features.shape[1] == 2 * (10 + 5) + 2


def test_features_by_counting():
    builder = FeatureBuilder(replace(SMALL, softness=0.0)).fit(IMAGES)
    built = builder.transform(IMAGES[0])
    regions, words = built.regions, builder.words_
    np.testing.assert_array_equal(built.graph.edges, region_edges(regions))
    lattice, cone = dense_daisy(IMAGES[0], radius=SMALL.radius), hsv_cone(IMAGES[0])
    expected = np.zeros((regions.max() + 1, 8 + 6))
    for y, x in np.ndindex(regions.shape):
        gradient = np.linalg.norm(words["node_gradient"] - lattice[y // 4, x // 4], axis=1).argmin()
        colour = np.linalg.norm(words["node_colour"] - cone[y, x], axis=1).argmin()
        expected[regions[y, x], [gradient, 8 + colour]] += 1
    expected = np.sqrt(expected / np.bincount(regions.ravel())[:, None])
    np.testing.assert_allclose(built.graph.node_features, expected, atol=1e-6)


def test_edge_features_are_both_ends_distance_and_angle(builder):
    built = builder.transform(IMAGES[0])
    features_of_edges, edges = built.graph.edge_features, built.graph.edges
    assert features_of_edges.shape[1] == 2 * (4 + 3) + 2
    first, second = features_of_edges[:, :7], features_of_edges[:, 7:14]
    np.testing.assert_allclose((first[:, :4] ** 2).sum(axis=1), 1, rtol=1e-5)
    for node in range(built.graph.n_nodes):  # a node looks the same from all its edges
        seen = np.concatenate([first[edges[:, 0] == node], second[edges[:, 1] == node]])
        assert len(np.unique(seen, axis=0)) == 1
    assert features_of_edges[:, 14].min() > 0
    assert 0 <= features_of_edges[:, 15].min() <= features_of_edges[:, 15].max() <= np.float32(np.pi)


def test_words_are_soft_unless_a_network_describes_the_nodes(builder):
    assert SMALL.softness == FeatureSettings().softness == 0.5
    assert FeatureSettings(features="cnn").softness == FeatureSettings.fine().softness == 0
    soft, hard = (FeatureBuilder(replace(SMALL, softness=s)).fit(IMAGES).transform(IMAGES[0]) for s in (None, 0.0))
    assert_same(soft, builder.transform(IMAGES[0]))
    rows = [built.graph.node_features for built in (soft, hard)]
    assert (rows[0] > 1e-3).sum() > (rows[1] > 1e-3).sum()
    np.testing.assert_allclose((rows[0][:, :8] ** 2).sum(axis=1), 1, rtol=1e-5)


def test_settings_from_before_softness_mean_the_nearest_word(builder):
    settings, words = builder.state()
    del settings["softness"]
    assert FeatureBuilder.from_state(settings, words).settings.softness == 0


@pytest.mark.parametrize("softness", [-0.1, float("nan"), float("inf")])
def test_a_softness_that_is_none_is_refused(softness):
    with pytest.raises(ValueError, match="softness must be positive, or 0 for the nearest word only, got"):
        FeatureSettings(softness=softness)


def test_shares_instead_of_roots():
    built = FeatureBuilder(FeatureSettings(**SMALL.to_dict() | {"root": False})).fit(IMAGES).transform(IMAGES[0])
    np.testing.assert_allclose(built.graph.node_features[:, :8].sum(axis=1), 1, rtol=1e-5)


def test_the_second_setting():
    settings = FeatureSettings.fine(n_regions=60, node_words=(8, 6), edge_words=(4, 3))
    built = FeatureBuilder(settings, backbone=Pyramid()).fit(IMAGES).transform(IMAGES[0])
    n_words, n_maps, n_windows = 8 + 6, 5 + 10, 2 * 10
    assert built.graph.node_features.shape[1] == n_words + n_maps + n_windows + 2
    np.testing.assert_allclose(
        built.graph.node_features[:, -2:], region_medians(built.regions) / built.regions.shape, rtol=1e-6
    )
    assert np.bincount(built.regions.ravel()).min() >= 0.5 * built.regions.size / 60


def test_cnn_features_alone():
    settings = FeatureSettings(**SMALL.to_dict() | {"features": "cnn", "cnn": {"maps": 1, "surroundings": ()}})
    built = FeatureBuilder(settings, backbone=Pyramid()).fit(IMAGES).transform(IMAGES[0])
    assert built.graph.node_features.shape[1] == 10
    assert built.graph.edge_features.shape[1] == 2 * (4 + 3) + 2 + 2


def test_labels_of_regions_and_back(builder):
    built = builder.transform(IMAGES[0])
    y = np.arange(built.graph.n_nodes) % 3
    np.testing.assert_array_equal(built.node_labels(built.paint(y)), y)
    assert built.areas.sum() == 40 * 50


def test_a_large_image_is_reduced_and_painted_at_full_size():
    settings = FeatureSettings(**SMALL.to_dict() | {"max_side": 25})
    built = FeatureBuilder(settings).fit(IMAGES).transform(IMAGES[0])
    assert built.regions.shape == (20, 25)
    assert built.areas.sum() == 40 * 50
    y = np.arange(built.graph.n_nodes) % 3
    assert built.paint(y).shape == (40, 50)
    np.testing.assert_array_equal(built.node_labels(built.paint(y)), y)


@pytest.mark.parametrize("shape", [(1, 1), (1, 40), (7, 9)])
def test_tiny_and_flat_pictures(shape):
    flat = np.full((*shape, 3), 200, dtype=np.uint8)
    builder = FeatureBuilder(SMALL).fit([flat])
    for picture in (flat, IMAGES[0], smooth_picture(shape)):
        built = builder.transform(picture)
        assert built.paint(np.zeros(built.graph.n_nodes)).shape == picture.shape[:2]


def test_same_seed_same_features(builder):
    again = FeatureBuilder(SMALL).fit(IMAGES)
    assert_same(builder.transform(IMAGES[1]), again.transform(IMAGES[1]))


def test_several_processes_give_the_same(builder):
    parallel = FeatureBuilder(SMALL, n_jobs=2).fit(IMAGES)
    for one, two in zip(builder.transform_many(IMAGES), parallel.transform_many(IMAGES), strict=True):
        assert_same(one, two)


def test_a_dask_cluster_gives_the_same(builder, dask_cluster):
    remote = FeatureBuilder(SMALL, dask=dask_cluster.scheduler_address).fit(IMAGES)
    for one, two in zip(builder.transform_many(IMAGES), remote.transform_many(IMAGES), strict=True):
        assert_same(one, two)


def test_state_through_json_and_back(builder):
    settings, words = builder.state()
    again = FeatureBuilder.from_state(json.loads(json.dumps(settings)), words)
    assert again.settings == builder.settings
    assert_same(builder.transform(IMAGES[1]), again.transform(IMAGES[1]))


class Counted:
    """Counts how often the features of an image are computed."""

    def __init__(self, monkeypatch):
        self.calls = 0
        compute = features.find_regions

        def counted(*args, **options):
            self.calls += 1
            return compute(*args, **options)

        monkeypatch.setattr(features, "find_regions", counted)


def test_a_second_run_reads_the_cache(tmp_path, monkeypatch):
    counted = Counted(monkeypatch)
    first = FeatureBuilder(SMALL, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    assert counted.calls == len(first) == len(IMAGES)
    monkeypatch.setattr(features, "dense_daisy", None)  # whoever computes anything now fails
    second = FeatureBuilder(SMALL, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    for one, two in zip(first, second, strict=True):
        assert_same(one, two)
    assert counted.calls == len(IMAGES)
    assert len(second[1:3]) == 2
    assert_same(second[-1], first[3])


def test_a_changed_image_or_setting_is_computed_again(tmp_path, monkeypatch):
    counted = Counted(monkeypatch)
    builder = FeatureBuilder(SMALL, cache=tmp_path).fit(IMAGES)
    builder.transform_many(IMAGES)
    changed = IMAGES[0].copy()
    changed[0, 0] ^= 1
    builder.transform_many([changed, *IMAGES[1:]])
    assert counted.calls == len(IMAGES) + 1
    other = FeatureSettings(**SMALL.to_dict() | {"compactness": 20.0})
    FeatureBuilder(other, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    assert counted.calls == 2 * len(IMAGES) + 1


def test_settings_that_do_not_matter_change_nothing_in_the_cache(tmp_path, monkeypatch):
    counted = Counted(monkeypatch)
    builder = FeatureBuilder(SMALL, cache=tmp_path).fit(IMAGES)
    builder.transform_many(IMAGES)
    deaf = FeatureSettings(**SMALL.to_dict() | {"cnn": {"mirror": False, "surroundings": ()}})  # words need no network
    FeatureBuilder(deaf, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    assert counted.calls == len(IMAGES)
    monkeypatch.setattr(builder_module, "learn_words", None)  # finer regions have the same words
    FeatureBuilder(FeatureSettings(**SMALL.to_dict() | {"n_regions": 30}), cache=tmp_path).fit(IMAGES)


def test_networks_that_differ_in_what_they_do_share_no_cache(tmp_path):
    class Negative(Pyramid):
        def forward(self, images):
            return [-m for m in super().forward(images)]

    Negative.__qualname__ = Pyramid.__qualname__
    settings = replace(SMALL, features="cnn", cnn=CNNSettings(maps=1, surroundings=()))
    one, two = (
        FeatureBuilder(settings, backbone=network, cache=tmp_path).fit(IMAGES).transform(IMAGES[0])
        for network in (Pyramid(), Negative())
    )
    np.testing.assert_array_equal(one.graph.node_features, -two.graph.node_features)


def test_a_network_describes_finer_regions():
    assert [FeatureSettings(kind).n_regions for kind in ("bow", "cnn", "bow+cnn")] == [300, 1000, 1000]
    assert FeatureSettings("cnn", n_regions=50).n_regions == 50


def test_a_damaged_cache_entry_is_rebuilt(tmp_path, builder, caplog):
    cached = FeatureBuilder(SMALL, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    for path in tmp_path.rglob("*.bin"):
        path.write_bytes(path.read_bytes()[:-5])
    with caplog.at_level(logging.WARNING):
        assert_same(cached[2], builder.transform(IMAGES[2]))
    assert "is damaged" in caplog.text
    caplog.clear()
    assert_same(cached[2], builder.transform(IMAGES[2]))  # it was written again
    assert not caplog.text


def test_without_room_for_the_cache_the_work_goes_on(tmp_path, builder):
    (tmp_path / "file").write_text("")
    graphs = FeatureBuilder(SMALL, cache=tmp_path / "file").fit(IMAGES).transform_many(IMAGES)
    assert_same(graphs[1], builder.transform(IMAGES[1]))


def test_images_may_be_read_when_needed(builder):
    sources = [partial(smooth_picture, (40, 50), seed) for seed in range(4)]
    lazy = FeatureBuilder(SMALL).fit(sources)
    assert_same(lazy.transform(sources[3]), builder.transform(IMAGES[3]))


def test_a_large_set_is_thinned_out_for_the_words(monkeypatch):
    monkeypatch.setattr(builder_module, "MAX_WORD_IMAGES", 2)
    thinned = FeatureBuilder(SMALL).fit(IMAGES).words_
    for name, words in FeatureBuilder(SMALL).fit(IMAGES[::2]).words_.items():
        np.testing.assert_array_equal(thinned[name], words)


def test_the_progress_bar_goes_to_the_error_stream(capsys):
    FeatureBuilder(SMALL, progress=True).fit(IMAGES).transform_many(IMAGES)
    written = capsys.readouterr()
    assert not written.out
    assert "Words" in written.err
    assert "Features" in written.err


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="call fit with the training images first"):
        FeatureBuilder().transform(IMAGES[0])
    with pytest.raises(ValueError, match="at least one image"):
        FeatureBuilder().fit([])


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"features": "hog"}, "features must be one of 'bow', 'cnn', 'bow\\+cnn', got 'hog'"),
        ({"n_regions": -1}, "n_regions must be at least 1, got -1"),
        ({"cnn": {"scale": -1.0}}, "scale must be positive, or 0"),
        ({"compactness": 0.0}, "compactness must be positive"),
        ({"node_words": (60,)}, "node_words must be two positive numbers"),
        ({"edge_words": (0, 5)}, "edge_words must be two positive numbers"),
    ],
)
def test_wrong_settings_are_refused(option, message):
    with pytest.raises(ValueError, match=message):
        FeatureSettings(**option)
