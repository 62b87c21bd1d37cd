"""Comparisons: seeds, and the images that rows are judged by."""

import shutil

import pytest

from neuralfactors._experiment import Means, compare
from neuralfactors._runs import RunConfig, RunFolder, Splits
from neuralfactors.datasets import ImageFolder, write_scenes


def names(samples):
    return [sample.name for sample in samples]


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
