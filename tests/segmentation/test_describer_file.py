"""What files say of a describer: it comes back as it was, and what does not fit is refused in a sentence."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import Pyramid
from torch import nn

from neuralfactors._common.files import FileFormatError
from neuralfactors.datasets._classes import ClassEntry, Classes
from neuralfactors.segmentation._describer_file import (
    check_backbone,
    classes_from_json,
    classes_to_json,
    settings_from_json,
    stop_from_json,
)
from neuralfactors.vision import CNNSettings, FeatureSettings, WordSettings
from neuralfactors.vision._network_identity import portrait

colours = st.none() | st.tuples(*[st.integers(0, 255)] * 3)


@given(names=st.lists(st.text('aé" \\', min_size=1), min_size=1, max_size=5, unique=True), data=st.data())
def test_classes_come_back(names, data):
    entries = tuple(ClassEntry(3 * n, f"x{name}", data.draw(colours)) for n, name in enumerate(names))
    void = frozenset(data.draw(st.sets(st.sampled_from([e.name for e in entries[1:]])))) if names[1:] else frozenset()
    classes = Classes(entries, void)
    assert classes_from_json(json.loads(json.dumps(classes_to_json(classes)))) == classes


@given(
    features=st.sampled_from(["bow", "cnn", "bow+cnn", "own"]),
    n_regions=st.integers(-1, 900),
    words=st.builds(
        WordSettings,
        stride=st.integers(1, 9),
        node_words=st.tuples(st.integers(1, 90), st.integers(1, 90)),
        softness=st.none() | st.floats(0, 3),
        root=st.booleans(),
    ),
    maps=st.integers(1, 4),
    refine=st.none() | st.booleans(),
)
def test_settings_come_back(features, n_regions, words, maps, refine):
    settings = FeatureSettings(features, n_regions=n_regions, words=words, cnn=CNNSettings(maps=maps), refine=refine)
    assert settings_from_json(json.loads(json.dumps(settings.to_dict())), "folder") == settings


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stride": 4}, "features have no option 'stride': it is 'words__stride'"),
        ({"words": {"strides": 4}}, "features have no option 'words__strides'"),
        ({"words": 4}, "words must be a mapping of options, got 4"),
        ({"n_regions": -2}, "n_regions must be at least 1"),
        ({"colour": "red"}, "features have no option 'colour'"),
    ],
)
def test_settings_of_other_versions_are_refused(options, message):
    with pytest.raises(FileFormatError, match=f"folder has settings that this version does not know: {message}"):
        settings_from_json(options, "folder")


def test_a_backbone_must_be_that_of_the_file(tmp_path):
    own, other, settings = Pyramid(), nn.Conv2d(3, 2, 3), FeatureSettings("cnn")
    document = {"backbone": portrait(own)}
    check_backbone(document, settings, own, tmp_path)
    with pytest.raises(ValueError, match="was trained with a custom backbone, Pyramid: pass it as backbone"):
        check_backbone(document, settings, None, tmp_path)
    with pytest.raises(ValueError, match="was trained with another backbone, Pyramid, than the one given"):
        check_backbone(document, settings, other, tmp_path)
    with pytest.raises(ValueError, match="was trained with the backbone 'efficientnet-lite2': leave out the option"):
        check_backbone({"backbone": None}, settings, own, tmp_path)
    check_backbone({"backbone": None}, settings, None, tmp_path)
    check_backbone({}, settings, other, tmp_path)


def test_bags_of_words_need_no_backbone(tmp_path):
    check_backbone({"backbone": None}, FeatureSettings("bow"), Pyramid(), tmp_path)


def test_why_regions_are_not_finer_comes_back():
    own, found = FeatureSettings(n_regions=-1), FeatureSettings(n_regions=30)
    for stop in ("enough", "flat", "pixels", "budget", "rare", "own", None):
        assert stop_from_json({"stop": stop}, found, "folder") == stop
    assert [stop_from_json({}, settings, "folder") for settings in (own, found)] == ["own", None]  # of earlier versions
    for strange in ("tired", ["flat"]):
        with pytest.raises(FileFormatError, match="folder does not say why regions are not finer, but "):
            stop_from_json({"stop": strange}, found, "folder")
