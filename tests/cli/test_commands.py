"""Every command does what its help says, in a process of its own."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from cli_server import FAST
from PIL import Image

import neuralfactors
from neuralfactors.datasets import ImageFolder, read_image, write_scenes
from neuralfactors.files import sealed
from neuralfactors.metrics import Scores
from neuralfactors.segmentation import Segmenter

COMMANDS = (
    "demo",
    "train",
    "compare",
    "tune",
    "resume",
    "report",
    "predict",
    "evaluate",
    "info",
    "convert",
    "prepare",
    "solve",
)


def test_script_and_module_are_the_same_command():
    script = Path(sys.executable).with_name("neuralfactors")
    for command in ([str(script)], [sys.executable, "-m", "neuralfactors"]):
        result = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=60, check=True)
        assert result.stdout.strip() == neuralfactors.__version__


def test_help_does_not_wait_for_torch():
    code = "import sys, neuralfactors.cli; print('torch' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert result.stdout.strip() == "False"


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(call, command):
    result = call(command, "--help")
    assert result.code == 0
    assert f"Example: neuralfactors {command}" in result.out
    assert "--quiet" in result.out
    assert "--verbose" in result.out


def test_help_lists_all_commands(call):
    result = call("--help")
    listed = [line.split()[0] for line in result.out.split("Commands:")[1].splitlines() if line.strip()]
    assert sorted(listed) == sorted(COMMANDS)


def test_shell_completion(call):
    assert "--install-completion" in call("--help").out
    script = str(Path(sys.executable).with_name("neuralfactors"))
    typed = {"COMP_WORDS": "neuralfactors pre", "COMP_CWORD": "1", "_NEURALFACTORS_COMPLETE": "complete_bash"}
    result = subprocess.run([script], env={**os.environ, **typed}, capture_output=True, text=True, timeout=60)
    assert result.stdout.split() == ["predict", "prepare"]


def test_train_leaves_a_run_folder(trained, scenes):
    document = json.loads((trained / "run.json").read_text())
    assert document["format"] == 3
    assert document["settings"]["kind"] == "train"
    assert document["settings"]["data"] == str(scenes.resolve())
    assert document["splits"] == {"train": 7, "val": 3}
    assert [entry["name"] for entry in document["classes"]] == ImageFolder(scenes).classes.names
    assert document["finished"] >= document["started"]
    row = json.loads((trained / "rows/int+nrl/row.json").read_text())
    assert row["status"] == "done"
    assert row["epochs"] == 4
    history = [json.loads(line) for line in (trained / "rows/int+nrl/history.jsonl").read_text().splitlines()]
    assert [record["epoch"] for record in history] == [1, 2, 3, 4]
    assert all(0 <= record["accuracy"] <= 1 for record in history)
    assert not list(trained.rglob("*.checkpoint"))


def test_predict_writes_indices_in_class_colours_and_an_overlay(call, trained, scenes, tmp_path):
    pictures = sorted((scenes / "images").iterdir())[:2]
    result = call("predict", trained, *pictures, "--out", tmp_path / "maps", "--confidence", "--json")
    assert result.code == 0, result.err
    told = json.loads(result.out)
    assert [entry["image"] for entry in told] == [str(path) for path in pictures]
    segmenter = Segmenter.load(trained / "rows/int+nrl", features=trained / "features")
    classes = ImageFolder(scenes).classes
    for path in pictures:
        written = Image.open(tmp_path / "maps" / f"{path.stem}.png")
        assert written.mode == "P"
        labels = segmenter.predict(path)
        np.testing.assert_array_equal(np.asarray(written), labels + 1)  # index 0 is void
        np.testing.assert_array_equal(np.asarray(written.convert("RGB")), classes.palette[labels])
        assert read_image(tmp_path / "maps" / f"{path.stem}.overlay.jpg").shape == (48, 64, 3)
        confidence = np.asarray(Image.open(tmp_path / "maps" / f"{path.stem}.confidence.png"))
        np.testing.assert_array_equal(confidence, np.rint(255 * segmenter.confidence(path)))


def test_commands_to_go_on_with_can_be_typed_as_they_stand(call, scenes, cache, tmp_path):
    """Where the name of a folder has spaces, or begins as an option does."""
    place, options = tmp_path / "my runs", ("--cache", cache, *FAST)
    place.mkdir()
    result = call("train", scenes, "--out", place / "a run", *options)
    next_words = shlex.split(result.err.splitlines()[-1].partition("Next: ")[2])
    assert next_words[:3] == ["neuralfactors", "predict", str(place / "a run")]
    document = json.loads((place / "a run/run.json").read_text())
    (place / "-cut").mkdir()
    (place / "-cut/run.json").write_text(json.dumps(sealed({**document, "finished": None})))
    picture = scenes / "images/scene_0003.png"
    told = call("info", "./-cut", cwd=place).out
    assert "not yet: neuralfactors resume ./-cut\n" in told
    assert "neuralfactors resume ./-cut'" in call("train", scenes, "--out=-cut", cwd=place).err
    assert "neuralfactors resume ./-cut'" in call("predict", "./-cut", picture, "--out", tmp_path, cwd=place).err


def test_predict_leaves_hidden_files_of_a_folder_alone(call, trained, scenes, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new/._a.png").write_bytes(b"what macOS knows of a.png")
    result = call("predict", trained, tmp_path / "new", "--out", tmp_path / "maps")
    assert (result.code, result.err) == (1, f"Error: {tmp_path / 'new'} holds no picture\n")
    (tmp_path / "new/a.png").write_bytes((scenes / "images/scene_0003.png").read_bytes())
    assert call("predict", trained, tmp_path / "new", "--out", tmp_path / "maps").code == 0


def test_predict_takes_a_folder_and_can_be_quiet(call, trained, scenes, tmp_path):
    result = call("predict", trained, scenes / "images", "--out", tmp_path, "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert len(list(tmp_path.glob("*.png"))) == 12


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
    pairs = ((sample.read_labels(), segmenter.predict(sample.read_image())) for sample in ImageFolder(scenes)["val"])
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


def test_info(call, trained):
    result = call("info", trained)
    assert result.code == 0
    assert "scenes (7 train, 3 val)" in result.out
    assert "int+nrl" in result.out
    document = json.loads(call("info", trained, "--json").out)
    assert document["rows"][0]["row"]["status"] == "done"


def test_resume_of_a_finished_run_changes_nothing(call, trained):
    model = (trained / "rows/int+nrl/model.json").read_bytes()
    result = call("resume", trained, "--quiet")
    assert result.code == 0, result.err
    assert (trained / "rows/int+nrl/model.json").read_bytes() == model


def test_report_is_written(call, trained):
    result = call("report", trained)
    assert result.code == 0, result.err
    assert "int+nrl" in Path(result.out.strip()).read_text()


def test_prepare_fills_the_cache_that_train_reads(call, scenes, tmp_path):
    cache = tmp_path / "cache"
    result = call("prepare", scenes, "--regions", "30", "--cache", cache, "--jobs", "1", "--json", "--quiet")
    assert result.code == 0, result.err
    assert json.loads(result.out) == {"images": 12, "cache": str(cache)}
    filled = sorted(cache.rglob("*.bin"))
    assert len(filled) == 13  # the words, and a graph an image
    trained = call("train", scenes, "--out", tmp_path / "run", "--cache", cache, *FAST, "--variant", "unary")
    assert trained.code == 0, trained.err
    assert sorted(cache.rglob("*.bin")) == filled


def test_prepare_for_mirror_images(call, scenes, tmp_path):
    cache, options = tmp_path / "cache", ("--regions", "30", "--jobs", "1", "--quiet", "--mirror")
    result = call("prepare", scenes, "--cache", cache, *options)
    assert result.code == 0, result.err
    filled = sorted(cache.rglob("*.bin"))
    assert len(filled) == 1 + 12 + 7  # the words, all images and the mirror images of those to learn from
    more = ("--variant", "unary", "--epochs", "1")
    trained = call("train", scenes, "--out", tmp_path / "run", "--cache", cache, *options, *more)
    assert trained.code == 0, trained.err
    assert sorted(cache.rglob("*.bin")) == filled


def test_evaluate_where_a_class_that_was_dropped_is_unknown(call, scenes, cache, tmp_path):
    out, data = tmp_path / "run", tmp_path / "other"
    options = ("--cache", cache, "--regions", "30", "--epochs", "1", "--jobs", "1", "--variant", "unary", "--quiet")
    shutil.copytree(scenes, data)
    (data / "classes.txt").write_text((data / "classes.txt").read_text() + "99 comet 9 9 9\n")
    assert call("train", data, "--out", out, "--drop", "comet", *options).code == 0
    figures = [call("evaluate", out, folder, "--json", "--jobs", "1", "--cache", cache) for folder in (data, scenes)]
    assert [each.code for each in figures] == [0, 0], figures[1].err
    assert figures[0].out == figures[1].out


def test_info_names_the_damaged_file(call, trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    metrics = tmp_path / "run/rows/int+nrl/metrics.json"
    metrics.write_text(metrics.read_text()[:50])
    result = call("info", tmp_path / "run")
    assert result.code == 1
    assert f"{metrics} is truncated or altered: it is not JSON" in result.err


def test_convert(call, tmp_path):
    from neuralfactors.datasets.convert import MSRC21

    rng = np.random.default_rng(0)
    for part in ("Images", "GroundTruth"):
        (tmp_path / "published" / part).mkdir(parents=True)
    indices = rng.integers(0, 22, size=(9, 12))
    colours = np.array([colour for _, colour in MSRC21], dtype=np.uint8)
    Image.fromarray(rng.integers(0, 256, (9, 12, 3), dtype=np.uint8)).save(tmp_path / "published/Images/1_1_s.bmp")
    Image.fromarray(colours[indices]).save(tmp_path / "published/GroundTruth/1_1_s_GT.bmp")
    result = call("convert", "msrc21", tmp_path / "published", tmp_path / "set", "--json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["images"] == 1
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "set/labels/1_1_s.png")), indices)


def test_demo(call, tmp_path):
    options = ("--out", tmp_path / "demo", "--scenes", "8", "--epochs", "2")
    result = call("demo", *options)
    assert result.code == 0, result.err
    for row in ("unary", "SGD", "int+nrl"):
        assert row in result.out
    assert str(tmp_path / "demo") in result.err.splitlines()[-1]
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
    assert list((tmp_path / "demo" / "figures").glob("*.png"))
    assert call("demo", *options).code == 0  # a second time goes on with what is there
    scene = tmp_path / "demo/scenes/images/scene_0000.png"
    drawn = scene.read_bytes()
    for changes in (("--epochs", "3"), ("--seed", "1"), ("--scenes", "9")):
        other = call("demo", *options, *changes)
        assert other.code == 1
        assert "other settings" in other.err
    assert scene.read_bytes() == drawn


def test_variant_by_its_printed_name(call, scenes, cache, tmp_path):
    options = ("--cache", cache, "--regions", "30", "--epochs", "1", "--jobs", "1", "--quiet")
    result = call("train", scenes, "--out", tmp_path / "run", "--variant", "int†+lin", *options)
    assert result.code == 0, result.err
    settings = json.loads((tmp_path / "run/rows/int+lin-dagger/row.json").read_text())["settings"]
    assert settings["model"]["unary__hidden"] == [7]
    maps = call("predict", tmp_path / "run", scenes / "images", "--out", tmp_path / "maps", "--variant", "int†+lin")
    assert maps.code == 0, maps.err


def test_a_set_without_splits_is_split_at_random(call, cache, tmp_path):
    data = write_scenes(tmp_path / "data", 8, shape=(48, 64))
    for path in (data / "splits").iterdir():
        path.unlink()
    result = call("train", data, "--out", tmp_path / "run", "--cache", cache, "--variant", "unary", *FAST)
    assert result.code == 0, result.err
    splits = json.loads((tmp_path / "run/run.json").read_text())["splits"]
    assert splits == {"train": 5, "val": 1}
    assert "Images: 5 to learn from, 1 to follow the training by, 1 to evaluate, drawn at random" in result.err
