"""The images of a run: held out, limited, drawn, described, and told of."""

import shutil
from dataclasses import replace

import pytest

from neuralfactors._experiment import (
    Means,
    evaluate_row,
    train,
)
from neuralfactors._experiment.data import (
    drawn,
    limited,
    open_data,
    open_folder,
    prepare,
    training_samples,
    used_splits,
)
from neuralfactors._runs import RunConfig, RunFolder, Splits


def names(samples):
    return [sample.name for sample in samples]


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
    with pytest.raises(ValueError, match="holdout must leave at least one of the 12 images to learn from, got 12"):
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


def test_a_split_of_no_image_to_learn_from_is_named(scenes, tmp_path):
    shutil.copytree(scenes, tmp_path / "scenes")
    (tmp_path / "scenes/splits/train.txt").write_text("")
    with pytest.raises(ValueError, match=r"the split 'train' of .* names no image to learn from"):
        open_data(RunConfig(str(tmp_path / "scenes")))


def test_draws_are_ordered_seeded_and_nested():
    assert drawn(10, 10, seed=0) == list(range(10))
    assert drawn(50, 5, seed=0) == sorted(drawn(50, 5, seed=0)) != drawn(50, 5, seed=1)
    assert set(drawn(50, 5, seed=0)) < set(drawn(50, 20, seed=0))


def test_limits_and_folds_go_by_images_where_there_are_mirror_images(scenes, tmp_path):
    config = RunConfig(str(scenes), ("unary",), features={"n_regions": 20}, limits={"unary": 3}, mirror=True, seed=4)
    prepared = prepare(config, open_data(config), RunFolder(tmp_path), Means(n_jobs=1))
    originals, mirrored = prepared.train.samples[::2], prepared.train.samples[1::2]
    assert [f"{sample.name} (mirrored)" for sample in originals] == [sample.name for sample in mirrored]
    assert len(originals) == 3
    part = limited(prepared.train, 2, seed=0, copies=2)
    assert [sample.name for sample in part.samples[1::2]] == [f"{s.name} (mirrored)" for s in part.samples[::2]]
    assert len(part.X) == 4


def test_varied_copies_are_learned_from_and_counted(scenes, tmp_path):
    config = RunConfig(str(scenes), ("unary",), features={"n_regions": 20}, limits={"unary": 2}, varied=2)
    prepared = prepare(config, open_data(config), RunFolder(tmp_path), Means(n_jobs=1))
    assert config.copies == 3
    assert len(prepared.train.X) == 6
    assert [sample.name.endswith("(varied 1)") for sample in prepared.train.samples] == 2 * [False, False, True]
    with pytest.raises(ValueError, match="varied must be a number of copies of every image, got -1"):
        RunConfig("x", varied=-1)


def test_evaluated_images_that_were_learnt_from_are_told(scenes, tmp_path, caplog):
    caplog.set_level("INFO")
    few = {"n_regions": 10}
    config = RunConfig(
        str(scenes), ("unary",), features=few, parameters={"*": {"max_iter": 1}}, splits=Splits("train+val")
    )
    train(config, tmp_path / "run")
    assert "4 for evaluation (4 of them also used for training)" in caplog.text
