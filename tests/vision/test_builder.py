import json
from dataclasses import replace

import numpy as np
import pytest
from pictures import FEW_WORDS, IMAGES, Pyramid, assert_same_graphs
from work import LoggedImage

from neuralfactors.vision import CNNSettings, FeatureBuilder, FeatureSettings
from neuralfactors.vision import _builder as builder_module
from neuralfactors.vision import _features as features


def test_same_seed_same_features(builder):
    again = FeatureBuilder(FEW_WORDS).fit(IMAGES)
    assert_same_graphs(builder.transform(IMAGES[1]), again.transform(IMAGES[1]))


def test_several_processes_give_the_same(builder):
    parallel = FeatureBuilder(FEW_WORDS, n_jobs=2).fit(IMAGES)
    for one, two in zip(builder.transform_many(IMAGES), parallel.transform_many(IMAGES), strict=True):
        assert_same_graphs(one, two)


def test_a_dask_cluster_gives_the_same(builder, dask_cluster):
    remote = FeatureBuilder(FEW_WORDS, dask=dask_cluster.scheduler_address).fit(IMAGES)
    for one, two in zip(builder.transform_many(IMAGES), remote.transform_many(IMAGES), strict=True):
        assert_same_graphs(one, two)


PLACES = ["this process", "threads", "many cores", "CNN on several cores", "Dask"]


@pytest.mark.parametrize("place", PLACES)
def test_each_image_is_read_once_wherever_it_is_described(place, tmp_path, monkeypatch, request):
    settings, options = FEW_WORDS, {"n_jobs": 1 if place == PLACES[0] else 2}
    if place == "many cores":
        monkeypatch.setattr(builder_module, "MAX_THREADS", 1)
    elif place == "CNN on several cores":
        settings, options["backbone"] = replace(FEW_WORDS, features="bow+cnn"), Pyramid()
    elif place == "Dask":
        options = {"dask": request.getfixturevalue("dask_cluster").scheduler_address}
    log = tmp_path / "log"
    graphs = FeatureBuilder(settings, **options).open([LoggedImage(image, log) for image in IMAGES], learn=True)
    assert len(list(graphs.first_pass())) == len(log.read_text().splitlines()) == len(IMAGES)


def test_state_through_json_and_back(builder):
    settings, words = builder.state()
    again = FeatureBuilder.from_state(json.loads(json.dumps(settings)), words)
    assert again.settings == builder.settings
    assert_same_graphs(builder.transform(IMAGES[1]), again.transform(IMAGES[1]))


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
    first = FeatureBuilder(FEW_WORDS, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    assert counted.calls == len(first) == len(IMAGES)
    monkeypatch.setattr(features, "dense_daisy", None)  # whoever computes anything now fails
    second = FeatureBuilder(FEW_WORDS, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    for one, two in zip(first, second, strict=True):
        assert_same_graphs(one, two)
    assert counted.calls == len(IMAGES)
    assert len(second[1:3]) == 2
    assert_same_graphs(second[-1], first[3])


def test_a_changed_image_or_setting_is_computed_again(tmp_path, monkeypatch):
    counted = Counted(monkeypatch)
    builder = FeatureBuilder(FEW_WORDS, cache=tmp_path).fit(IMAGES)
    builder.transform_many(IMAGES)
    changed = IMAGES[0].copy()
    changed[0, 0] ^= 1
    builder.transform_many([changed, *IMAGES[1:]])
    assert counted.calls == len(IMAGES) + 1
    other = FeatureSettings(**FEW_WORDS.to_dict() | {"compactness": 20.0})
    FeatureBuilder(other, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    assert counted.calls == 2 * len(IMAGES) + 1


def test_settings_that_do_not_matter_change_nothing_in_the_cache(tmp_path, monkeypatch):
    counted = Counted(monkeypatch)
    builder = FeatureBuilder(FEW_WORDS, cache=tmp_path).fit(IMAGES)
    builder.transform_many(IMAGES)
    deaf = FeatureSettings(
        **FEW_WORDS.to_dict() | {"cnn": {"mirror": False, "surroundings": ()}}
    )  # words need no network
    FeatureBuilder(deaf, cache=tmp_path).fit(IMAGES).transform_many(IMAGES)
    assert counted.calls == len(IMAGES)
    monkeypatch.setattr(builder_module, "learn_words", None)  # finer regions have the same words
    FeatureBuilder(FeatureSettings(**FEW_WORDS.to_dict() | {"n_regions": 30}), cache=tmp_path).fit(IMAGES)


def test_networks_that_differ_in_what_they_do_share_no_cache(tmp_path):
    class Negative(Pyramid):
        def forward(self, images):
            return [-m for m in super().forward(images)]

    Negative.__qualname__ = Pyramid.__qualname__
    settings = replace(FEW_WORDS, features="cnn", cnn=CNNSettings(maps=1, surroundings=()))
    one, two = (
        FeatureBuilder(settings, backbone=network, cache=tmp_path).fit(IMAGES).transform(IMAGES[0])
        for network in (Pyramid(), Negative())
    )
    np.testing.assert_array_equal(one.graph.node_features, -two.graph.node_features)


def test_a_large_set_is_thinned_out_for_the_words(monkeypatch):
    monkeypatch.setattr(builder_module, "MAX_WORD_IMAGES", 2)
    thinned = FeatureBuilder(FEW_WORDS).fit(IMAGES).words_
    for name, words in FeatureBuilder(FEW_WORDS).fit(IMAGES[::2]).words_.items():
        np.testing.assert_array_equal(thinned[name], words)


def test_the_progress_bar_goes_to_the_error_stream(capsys):
    FeatureBuilder(FEW_WORDS, progress=True).fit(IMAGES).transform_many(IMAGES)
    written = capsys.readouterr()
    assert not written.out
    assert "Words" in written.err
    assert "Features of 4 images" in written.err


def test_misuse_is_refused():
    with pytest.raises(ValueError, match="call fit with the training images first"):
        FeatureBuilder().transform(IMAGES[0])
    with pytest.raises(ValueError, match="at least one image"):
        FeatureBuilder().fit([])
