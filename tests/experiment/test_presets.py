"""Presets, images held out and limits: what is learnt from, and what is not."""

import shutil
from dataclasses import replace

import numpy as np
import pytest

from neuralfactors.datasets import ImageFolder, write_scenes
from neuralfactors.experiment import PRESETS, Means, Preset, compare, evaluate_row, train
from neuralfactors.experiment.data import (
    Part,
    drawn,
    limited,
    open_data,
    open_folder,
    prepare,
    training_samples,
    used_splits,
)
from neuralfactors.experiment.models import balance_of, check_settings
from neuralfactors.runs import STATE_OF_THE_ART, TABLED, RunConfig, RunFolder, Splits
from neuralfactors.vision import FeatureSettings


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("scenes"), 20, shape=(48, 64))


def names(samples):
    return [sample.name for sample in samples]


@pytest.mark.parametrize("name", PRESETS)
def test_settings_of_presets_are_valid(name):
    preset = Preset.read(name)
    for chosen in preset.features.values():
        rows = (*TABLED, STATE_OF_THE_ART)
        check_settings(RunConfig("x", rows, "compare", parameters=chosen.parameters, limits=chosen.limits))
        FeatureSettings(**chosen.options)
    words = FeatureSettings(**preset.features["bow"].options)
    assert (words.node_words, words.edge_words) == ((60, 30), (10, 5))  # the paper's sizes: 90 and 32
    assert not words.position
    assert FeatureSettings(**preset.features["cnn"].options).uses_cnn
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


def test_held_out_images_are_never_learnt_from(scenes):
    found = []
    for seed in (0, 0, 1):
        config = RunConfig(str(scenes), splits=Splits(holdout=5), seed=seed)
        data = open_folder(config)
        assert used_splits(config, data) == {"train": "rest", "val": "holdout", "test": "val"}
        learnt, held = names(training_samples(config, data)), names(data["holdout"])
        assert len(held) == 5
        assert sorted(learnt + held) == sorted(names(data["train"]))
        found.append(held)
    assert found[0] == found[1] != found[2]
    with pytest.raises(ValueError, match="holdout must leave an image to learn from: of 12, got 12"):
        open_folder(RunConfig(str(scenes), splits=Splits(holdout=12)))
    with pytest.raises(ValueError, match="holdout must not be negative, got -1"):
        RunConfig("x", splits=Splits(holdout=-1))


def test_held_out_images_can_be_evaluated(scenes, tmp_path):
    parameters = {"unary": {"max_iter": 1}}
    config = RunConfig(
        str(scenes), ("unary",), "train", {"n_regions": 20}, parameters, splits=Splits(test="holdout", holdout=4)
    )
    folder = RunFolder(train(config, tmp_path / "run", Means(tmp_path / "cache")))
    row, means = folder.row("unary"), Means(tmp_path / "cache")
    again = evaluate_row(folder, row, scenes, "holdout", means)
    assert (again.n_images, again.pixel) == (4, row.metrics.read().pixel)
    assert evaluate_row(folder, row, scenes, "test", means).n_images == 4


def test_words_come_from_the_largest_limit_and_rows_learn_from_their_own(scenes, tmp_path):
    small = {"max_iter": 1}
    config = RunConfig(
        str(scenes), ("unary", "SGD"), features={"n_regions": 20}, parameters={"*": small}, limits={"*": 6, "SGD": 3}
    )
    assert len(training_samples(config, open_folder(config))) == 6
    assert len(training_samples(replace(config, limits={"SGD": 3}), open_folder(config))) == 12
    folder = RunFolder(train(config, tmp_path / "run", Means(tmp_path / "cache")))
    assert [row.row.read().n_train for row in folder.rows()] == [6, 3]
    with pytest.raises(ValueError, match="the limit of SGD must not be negative, got -3"):
        RunConfig("x", limits={"SGD": -3})


def test_draws_are_ordered_seeded_and_nested():
    assert drawn(10, 10, seed=0) == list(range(10))
    assert drawn(50, 5, seed=0) == sorted(drawn(50, 5, seed=0)) != drawn(50, 5, seed=1)
    assert set(drawn(50, 5, seed=0)) < set(drawn(50, 20, seed=0))
    part = Part(np.arange(10) * 2, [3, 1])
    assert (len(part), part[0], part[:]) == (2, 6, [6, 2])


def test_balance_of_a_row_comes_from_the_nearest_setting():
    config = RunConfig("x", (*TABLED, STATE_OF_THE_ART), balance=0.2, parameters={"SGD": {"balance": 0.7}})
    assert [balance_of(config, row) for row in ("unary", "SGD", STATE_OF_THE_ART)] == [0.2, 0.7, 1.0]
    common = replace(config, parameters={**config.parameters, "*": {"balance": 0.4}})
    assert [balance_of(common, row) for row in ("unary", "SGD", STATE_OF_THE_ART)] == [0.4, 0.7, 0.4]


def test_set_without_test_images_is_compared_on_validation_images(tmp_path):
    scenes = write_scenes(tmp_path / "scenes", 12, shape=(48, 64))
    (scenes / "splits/test.txt").unlink()
    config = RunConfig(
        str(scenes), ("unary",), "compare", {"n_regions": 20}, {"unary": {"max_iter": 1}}, splits=Splits(test="test")
    )
    compare(config, [3], tmp_path / "run", Means(tmp_path / "cache"))
    run = RunFolder(tmp_path / "run").run()
    assert run.settings.splits.test == "val"
    assert run.seeds == (3,)
    with pytest.raises(ValueError, match="seeds must name at least one seed"):
        compare(config, [], tmp_path / "other")


def test_seeds_of_a_comparison_share_a_random_split(tmp_path):
    scenes = write_scenes(tmp_path / "scenes", 12, shape=(30, 40))
    shutil.rmtree(scenes / "splits")
    config = RunConfig(
        str(scenes), ("unary",), "compare", {"n_regions": 10}, {"unary": {"max_iter": 1}}, splits=Splits(test="test")
    )
    compare(config, [2, 0], tmp_path / "run")
    whole, *runs = (RunFolder(tmp_path / "run" / place).run() for place in ("", "seed-2", "seed-0"))
    assert [run.settings.seed for run in runs] == [2, 0]
    assert {run.data_digest for run in runs} == {whole.data_digest}
    judged = ImageFolder(scenes, random_state=2)["test"]
    for seed in (2, 0):
        assert RunFolder(tmp_path / "run").seed(seed).examples.read().names == tuple(sample.name for sample in judged)


def test_limits_and_folds_go_by_images_where_there_are_mirror_images(scenes, tmp_path):
    config = RunConfig(str(scenes), ("unary",), features={"n_regions": 20}, limits={"unary": 3}, mirror=True, seed=4)
    prepared = prepare(config, open_data(config), RunFolder(tmp_path), Means(n_jobs=1))
    originals, mirrored = prepared.train.samples[::2], prepared.train.samples[1::2]
    assert [f"{sample.name} (mirrored)" for sample in originals] == [sample.name for sample in mirrored]
    assert len(originals) == 3
    part = limited(prepared.train, 2, seed=0, copies=2)
    assert [sample.name for sample in part.samples[1::2]] == [f"{s.name} (mirrored)" for s in part.samples[::2]]
    assert len(part.X) == 4
