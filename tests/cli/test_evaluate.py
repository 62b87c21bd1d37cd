"""evaluate: figures that agree with predict and with the run."""

import json
import re
import shutil

import pytest
from commands import refused

from neuralfactors.datasets import ImageFolder
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Segmenter


def test_evaluate_on_a_single_image(call, trained, copied_scenes, cache):
    (copied_scenes / "splits/val.txt").write_text("scene_0003\n")
    result = call("evaluate", trained, copied_scenes, "--split", "val", "--cache", cache)
    assert result.code == 0, result.err
    assert "int+nrl on 1 image of val: pixels" in result.out


def test_evaluate_agrees_with_predict_and_with_the_run(call, trained, scenes, cache):
    result = call("evaluate", trained, scenes, "--split", "val", "--cache", cache, "--json", "--jobs", "1", "--quiet")
    assert result.code == 0, result.err
    figures = json.loads(result.out)
    segmenter = Segmenter.load(trained / "rows/int+nrl", features=trained / "features")
    samples = ImageFolder(scenes)["val"]
    pairs = zip((sample.read_labels() for sample in samples), segmenter.predict(samples), strict=True)
    expected = Scores.of(pairs, 7)
    assert figures["pixel"] == pytest.approx(expected.pixel_accuracy)
    assert figures["class_mean"] == pytest.approx(expected.class_mean_accuracy)
    assert figures["mean_iou"] == pytest.approx(expected.mean_iou)
    assert figures["confusion"] == expected.confusion.astype(int).tolist()
    written = json.loads((trained / "rows/int+nrl/metrics.json").read_text())
    assert {name: written[name] for name in ("pixel", "class_mean", "per_class")} == {
        name: figures[name] for name in ("pixel", "class_mean", "per_class")
    }


def test_evaluate_shows_a_table(call, trained, scenes, cache):
    result = call("evaluate", trained, scenes, "--split", "test", "--cache", cache, "--jobs", "1")
    assert result.code == 0, result.err
    for text in ("mountain", "Confusion", "images of test: pixels", "mean IoU"):
        assert text in result.out
    assert re.search(r"Labels of \d+ images .* 0:00:0", result.err)


def test_evaluate_where_a_class_that_was_dropped_is_unknown(call, scenes, cache, tmp_path):
    out, data = tmp_path / "run", tmp_path / "other"
    options = ("--cache", cache, "--regions", "30", "--epochs", "1", "--jobs", "1", "--variant", "unary", "--quiet")
    shutil.copytree(scenes, data)
    (data / "classes.txt").write_text((data / "classes.txt").read_text() + "99 comet 9 9 9\n")
    assert call("train", data, "--out", out, "--drop", "comet", *options).code == 0
    figures = [call("evaluate", out, folder, "--json", "--jobs", "1", "--cache", cache) for folder in (data, scenes)]
    assert [each.code for each in figures] == [0, 0], figures[1].err
    assert figures[0].out == figures[1].out


def test_evaluate_on_other_classes(call, trained, copied_scenes):
    (copied_scenes / "classes.txt").write_text("".join(f"{k} class{k}\n" for k in range(8)))
    refused(call("evaluate", trained, copied_scenes, "--split", "val"), "class1", "but the model was trained on")
