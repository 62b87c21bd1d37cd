"""tune: a search end to end on scenes, interrupted or refused."""

import json

import pytest
from commands import SMALL, kill_when, without_times
from PIL import Image

from neuralfactors._runs import RunFolder
from neuralfactors._runs.documents import encode


@pytest.fixture(scope="module")
def tuned(call, scenes, cache, tmp_path_factory):
    """A finished search: the folder, and what --json printed."""
    out = tmp_path_factory.mktemp("tuned") / "search"
    options = ("--variant", "SGD", "--trials", "6", "--cache", cache, "--json", *SMALL)
    result = call("tune", scenes, "--out", out, *options)
    assert result.code == 0, result.err
    return out, json.loads(result.out)


def test_tune_writes_settings_that_train_takes(call, scenes, cache, tuned, tmp_path):
    out, told = tuned
    assert [trial["stage"] for trial in told["trials"]] == ["coarse"] * 4 + ["fine"] * 2
    best = max(told["trials"], key=lambda trial: trial["score"])
    assert told["settings"]["score"] == best["score"] == (best["pixel"] + best["class_mean"]) / 2
    chosen = told["settings"]["variants"]["SGD"]
    assert chosen.items() >= best["parameters"].items()
    options = ("--settings", out / "settings.json", "--variant", "SGD", "--regions", "30", "--cache", cache, "--quiet")
    result = call("train", scenes, "--out", tmp_path / "run", "--jobs", "1", *options)
    assert result.code == 0, result.err
    metrics = json.loads((tmp_path / "run/rows/SGD/metrics.json").read_text())
    assert (metrics["pixel"], metrics["class_mean"]) == pytest.approx((best["pixel"], best["class_mean"]))
    none = call("train", scenes, "--out", tmp_path / "none", "--settings", out / "settings.json")
    assert none.code == 1
    assert "has no settings for int+nrl; it has some for SGD" in none.err
    none = call("compare", scenes, "--out", tmp_path / "none", "--settings", out / "settings.json", "--variants", "CP")
    assert none.code == 1
    assert "has no settings for CP; it has some for SGD" in none.err
    result = call("train", scenes, "--out", tmp_path / "other", "--epochs", "1", "--balance", "0.9", *options)
    assert result.code == 0, result.err
    assert json.loads((tmp_path / "other/rows/SGD/row.json").read_text())["balance"] == 0.9  # options beat files


def test_a_search_is_not_taken_for_a_model(call, scenes, tuned, tmp_path):
    out, told = tuned
    for words in (("predict", out, scenes / "images", "--out", tmp_path), ("report", out)):
        result = call(*words)
        assert result.code == 1
        assert "contains a search for settings" in result.err
    assert json.loads(call("info", out, "--json").out)["trials"] == told["trials"]


def test_tune_without_a_labelled_pixel_to_judge_by(call, cache, copied_scenes, tmp_path):
    for name in (copied_scenes / "splits/val.txt").read_text().split():
        Image.new("L", (64, 48), 0).save(copied_scenes / f"labels/{name}.png")  # 0 is void
    result = call("tune", copied_scenes, "--out", tmp_path / "search", "--trials", "1", "--cache", cache, *SMALL)
    assert result.code == 1
    assert "no labelled pixel" in result.err
    assert "Traceback" not in result.err


def test_killed_search_goes_on_to_the_same_settings(call, scenes, cache, tuned, tmp_path):
    out = tmp_path / "cut"
    options = ("--out", out, "--variant", "SGD", "--trials", "6", "--cache", cache, *SMALL)
    trials = out / "trials.jsonl"
    kill_when(lambda: trials.exists() and trials.read_text().count("\n") >= 2, ("tune", scenes, *options))
    result = call("resume", out, "--cache", cache, "--jobs", "1", "--quiet")
    assert result.code == 0, result.err
    assert "6 trials" in result.out
    assert encode(RunFolder(out).settings.read()) == tuned[1]["settings"]
    again = json.loads(call("tune", scenes, *options, "--json").out)
    assert without_times(again) == without_times(tuned[1])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--search", "C,colour"), "search must name some of C, interaction_C, trainer__learning_rate"),
        (("--folds", "1"), "folds must be at least 2"),
        (("--folds", "50"), "folds must be at most the number of training images, 7"),
        (("--holdout", "7"), "holdout must leave at least one of the 7 images to learn from, got 7"),
        (("--validate", "nothing"), "there is no split 'nothing'"),
        (("--folds", "2", "--holdout", "3"), "leave out --holdout and --validate"),
        (("--preset", "msrc21"), "the preset msrc21 is for the classes building"),
    ],
)
def test_tune_refuses_in_one_sentence(call, scenes, cache, tmp_path, options, message):
    result = call("tune", scenes, "--out", tmp_path / "search", "--cache", cache, *SMALL, *options)
    assert result.code == 1
    assert message in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "search").exists()
