"""Rows of a run: what is computed for one, and how often."""

import json

import pytest
from work import counting

from neuralfactors._experiment import Means, train
from neuralfactors._runs import RunConfig, RunFolder, Splits
from neuralfactors.datasets import ImageFolder, write_scenes
from neuralfactors.datasets import _folder as folder
from neuralfactors.segmentation import Segmenter
from neuralfactors.vision import _descriptors as descriptors


def test_each_image_is_decoded_described_and_predicted_once(tmp_path):
    scenes = write_scenes(tmp_path / "scenes", 20, shape=(48, 64))
    data = ImageFolder(scenes)
    n_images, n_test, n_examples = len(data), len(data["test"]), 2
    parameters = {"int+nrl": {"max_iter": 1, "unary__hidden": (8,), "interaction__hidden": (8,)}}
    config = RunConfig(
        str(scenes),
        ("int+nrl",),
        "demo",
        {"n_regions": 30},
        parameters,
        splits=Splits(test="test"),
        n_examples=n_examples,
    )
    work = {
        "decodes": (folder, "read_image"),
        "daisy": (descriptors._kernels, "daisy"),
        "predictions": (Segmenter, "explain_potentials"),
        "others": (Segmenter, "predict_one"),
    }
    with counting(**work) as done:
        run = train(config, tmp_path / "run", Means(cache=tmp_path / "cache"))
    # An example is read once more, to be copied into the run folder.
    assert done == {"decodes": n_images + n_examples, "daisy": n_images, "predictions": n_test, "others": 0}
    assert len(list((run / "rows" / "int+nrl" / "predictions").iterdir())) == n_examples


def read(path):
    return json.loads(path.read_text())


def test_a_row_tells_the_settings_it_was_trained_with(scenes, tmp_path):
    parameters = {"*": {"max_iter": 1}}
    config = RunConfig(str(scenes), ("SGD",), features={"n_regions": 10}, parameters=parameters, seed=3, balance=0.5)
    place = train(config, tmp_path / "run") / "rows/SGD"
    told = read(place / "row.json")["settings"]
    assert list(told) == ["first", "model"]
    for name, settings in told.items():
        saved = read(place / "model.json")["parts"][name]["parameters"]
        assert settings["random_state"] == saved["random_state"] == 3
        assert settings["n_labels"] == saved["n_labels"] == 7
        assert settings["batch_size"] == saved["batch_size"] != "auto"


def test_failed_row_says_why(scenes, tmp_path):
    weights = {"unary": {"class_weight": [1.0, 2.0]}}  # there are seven classes
    config = RunConfig(str(scenes), ("unary",), features={"n_regions": 20}, parameters=weights)
    with pytest.raises(ValueError, match="class_weight"):
        train(config, tmp_path / "run")
    state = read(tmp_path / "run/rows/unary/row.json")
    assert state["status"] == "failed"
    assert "class_weight" in state["error"]
    assert not RunFolder(tmp_path / "run").row("unary").is_done
