"""Presets: settings that are valid, for the sets that they are for, and never tuned on what is tested."""

import pytest

from neuralfactors._experiment import PRESETS, Preset
from neuralfactors._experiment.data import (
    open_folder,
    used_splits,
)
from neuralfactors._experiment.models import check_settings
from neuralfactors._runs import STATE_OF_THE_ART, TABLED, RunConfig
from neuralfactors.vision import FeatureSettings


def names(samples):
    return [sample.name for sample in samples]


@pytest.mark.parametrize("name", PRESETS)
def test_settings_of_presets_are_valid(name):
    preset = Preset.read(name)
    for kind in preset.features.values():
        rows = (*TABLED, STATE_OF_THE_ART)
        check_settings(RunConfig("x", rows, "compare", parameters=kind.parameters, limits=kind.limits))
        FeatureSettings.of(kind.options)
    chosen = FeatureSettings.of(preset.features["bow"].options)
    assert (chosen.words.node_words, chosen.words.edge_words) == ((60, 30), (10, 5))  # the paper's sizes: 90 and 32
    assert not chosen.position
    assert FeatureSettings.of(preset.features["cnn"].options).uses_cnn
    assert "test" not in {preset.tuning.train, preset.tuning.val}


@pytest.mark.realdata
@pytest.mark.parametrize(("name", "counts"), [("msrc21", (276, 59)), ("kitti", (100, 60)), ("siftflow", (2288, 200))])
def test_presets_fit_their_sets_and_never_tune_on_what_is_tested(data_dir, name, counts):
    preset = Preset.read(name)
    parts = {}
    for tuning in (True, False):
        config = preset.config(str(data_dir / name), "bow", ("unary",), tuning=tuning)
        data = open_folder(config)
        splits = used_splits(config, data)
        parts[tuning] = {part: set(names(data[split])) for part, split in splits.items() if split}
        assert data.classes.names == list(preset.classes)
    assert (len(parts[True]["train"]), len(parts[True]["val"])) == counts
    assert not parts[True]["train"] & parts[True]["val"]
    tested = parts[False]["test"]
    assert not tested & (parts[True]["train"] | parts[True]["val"] | parts[False]["train"])


def test_unknown_presets_features_and_classes_are_refused(scenes):
    with pytest.raises(ValueError, match="preset must be one of msrc21, kitti, siftflow, got 'coco'"):
        Preset.read("coco")
    with pytest.raises(ValueError, match=r"features of the preset kitti must be one of bow, cnn, got 'bow\+cnn'"):
        Preset.read("kitti").config(str(scenes), "bow+cnn", TABLED)
    with pytest.raises(ValueError, match=r"the preset siftflow is for the classes awning, .*, but .* has sky, water"):
        Preset.read("siftflow").config(str(scenes), "bow", TABLED)
