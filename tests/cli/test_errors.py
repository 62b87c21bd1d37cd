"""What goes wrong is said in one sentence, with an exit code, and leaves nothing half-written."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from cli_server import FAST, same_bytes
from PIL import Image

from neuralfactors.files import sealed


def refused(result, *words):
    """Whether a command ended with exit code 1 and one sentence that has all `words`."""
    assert result.code == 1, (result.code, result.out, result.err)
    lines = [line for line in result.err.splitlines() if line.startswith("Error:")]
    assert len(lines) == 1, result.err
    assert "Traceback" not in result.err
    for word in words:
        assert str(word) in lines[0], lines[0]
    return lines[0]


@pytest.fixture
def train(call, cache, tmp_path):
    return lambda data, *more: call("train", data, "--out", tmp_path / "run", "--cache", cache, *FAST, *more)


def test_missing_folder(train, tmp_path):
    refused(train(tmp_path / "nowhere"), "nowhere", "is not a folder")
    assert not (tmp_path / "run").exists()


def test_label_without_image(train, copied_scenes):
    (copied_scenes / "images" / "scene_0003.png").unlink()
    refused(train(copied_scenes), "scene_0003.png", "without an image")


def test_size_mismatch(train, copied_scenes):
    Image.fromarray(np.zeros((48, 60), dtype=np.uint8)).save(copied_scenes / "labels" / "scene_0003.png")
    (copied_scenes / "splits" / "train.txt").write_text("scene_0003\n")
    refused(train(copied_scenes), "scene_0003.png", "60 × 48", "64 × 48")


def test_unknown_class_in_a_label_map(train, copied_scenes):
    Image.fromarray(np.full((48, 64), 77, dtype=np.uint8)).save(copied_scenes / "labels" / "scene_0003.png")
    (copied_scenes / "splits" / "train.txt").write_text("scene_0003\n")
    refused(train(copied_scenes), "scene_0003.png", "index 77", "classes.txt")


def test_images_without_labels_are_told(call, copied_scenes, cache):
    (copied_scenes / "labels" / "scene_0003.png").unlink()
    for path in (copied_scenes / "splits").iterdir():
        path.write_text(path.read_text().replace("scene_0003\n", ""))
    result = call("prepare", copied_scenes, "--regions", "30", "--jobs", "1", "--cache", cache)
    assert result.code == 0, result.err
    assert f"1 of 12 images in {copied_scenes / 'images'} have no label map and are left out" in result.err


def test_another_encoding(train, copied_scenes):
    (copied_scenes / "splits" / "val.txt").write_text("scène\n", encoding="latin-1")
    refused(train(copied_scenes), "val.txt", "UTF-8")
    (copied_scenes / "classes.txt").write_text("0 void\n1 sky\n", encoding="utf-16")
    refused(train(copied_scenes), "classes.txt", "UTF-8")


def test_unknown_class_in_an_option(train, scenes):
    refused(train(scenes, "--drop", "unicorn"), "unicorn", "sky")


def test_unknown_split_method_and_features(train, scenes, tmp_path):
    refused(train(scenes, "--split", "training"), "'training'", "train")
    refused(train(scenes, "--variant", "magic"), "'magic'", "int+nrl")
    refused(train(scenes, "--features", "sift"), "'sift'", "bow+cnn")
    refused(train(scenes, "--validate", "vla"), "'vla'", "val")
    assert not (tmp_path / "run").exists()


@pytest.fixture
def truncated(tmp_path):
    path = tmp_path / "cut.jpg"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:1500])
    return path


def test_truncated_jpeg(call, trained, truncated, tmp_path):
    refused(call("predict", trained, truncated, "--out", tmp_path / "maps"), "cut.jpg", "truncated")
    assert not (tmp_path / "maps").exists()


def test_truncated_jpeg_among_training_images(train, copied_scenes, truncated):
    (copied_scenes / "images" / "scene_0003.png").unlink()
    target = copied_scenes / "images" / "scene_0003.jpg"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(target)
    target.write_bytes(target.read_bytes()[:1200])
    (copied_scenes / "splits" / "train.txt").write_text("scene_0003\nscene_0004\n")
    refused(train(copied_scenes), "scene_0003.jpg", "truncated")


@pytest.mark.parametrize(
    ("name", "shape"), [("dot.png", (1, 1)), ("row.png", (1, 50)), ("flat.png", (40, 50)), ("large.jpg", (6250, 8000))]
)
def test_extreme_pictures_are_labelled(call, trained, tmp_path, name, shape):
    """One pixel, one row, one colour, 50 megapixels."""
    Image.fromarray(np.full((*shape, 3), 90, dtype=np.uint8)).save(tmp_path / name)
    result = call("predict", trained, tmp_path / name, "--out", tmp_path / "maps")
    assert result.code == 0, result.err
    assert Image.open(tmp_path / "maps" / Path(name).with_suffix(".png")).size == shape[::-1]


def test_two_pictures_of_one_name(call, trained, scenes, tmp_path):
    picture = tmp_path / "scene_0000.png"
    Image.fromarray(np.zeros((9, 9, 3), dtype=np.uint8)).save(picture)
    result = call("predict", trained, scenes / "images" / "scene_0000.png", picture, "--out", tmp_path / "maps")
    refused(result, "would both be written to scene_0000.png")


def test_pictures_are_not_written_over(call, trained, scenes, tmp_path):
    picture = tmp_path / "mine.png"
    picture.write_bytes((scenes / "images/scene_0003.png").read_bytes())
    before = picture.read_bytes()
    refused(call("predict", trained, picture, "--out", tmp_path), "mine.png", "would be lost", "--out")
    assert picture.read_bytes() == before
    assert call("predict", trained, picture, "--out", tmp_path / "maps").code == 0


def test_no_picture(call, trained, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(call("predict", trained, tmp_path / "gone.jpg", "--out", tmp_path), "gone.jpg", "does not exist")
    refused(call("predict", trained, tmp_path / "empty", "--out", tmp_path), "holds no picture")


def test_unwritable_output(call, trained, scenes, cache, tmp_path):
    picture = scenes / "images" / "scene_0000.png"
    (tmp_path / "file").write_text("")
    refused(call("predict", trained, picture, "--out", tmp_path / "file" / "maps"), tmp_path / "file")
    refused(call("train", scenes, "--out", tmp_path / "file" / "run", "--cache", cache, *FAST), tmp_path / "file")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
def test_output_without_permission(call, trained, scenes, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o500)
    picture = scenes / "images" / "scene_0000.png"
    refused(call("predict", trained, picture, "--out", tmp_path / "locked"), "locked", "Permission denied")


def test_disk_full_while_predicting(call, trained, scenes, tmp_path):
    picture = scenes / "images" / "scene_0000.png"
    result = call("predict", trained, picture, "--out", tmp_path / "maps", max_bytes=400)
    refused(result, "scene_0000.png", "File too large")
    assert not list((tmp_path / "maps").iterdir())


def test_disk_full_while_training(call, scenes, tmp_path):
    options = ("--out", tmp_path / "run", "--cache", tmp_path / "cache", *FAST)
    refused(call("train", scenes, *options, max_bytes=20_000), "File too large", tmp_path / "run")
    assert not [path for path in (tmp_path / "run").rglob(".*") if path.is_file()]
    finished = call("resume", tmp_path / "run", "--cache", tmp_path / "cache", "--jobs", "1")  # there is room again
    assert finished.code == 0, finished.err
    assert [line.split()[0] for line in finished.out.splitlines()] == ["variant", "int+nrl"]  # progress goes elsewhere


def test_disk_full_while_preparing(call, scenes, tmp_path):
    options = ("prepare", scenes, "--regions", "30", "--jobs", "1", "--quiet", "--cache", tmp_path / "cache")
    refused(call(*options, max_bytes=9_000), "13 cache entries could not be written", tmp_path / "cache", "make room")
    assert call(*options).code == 0


def test_run_folder_of_a_newer_version(call, trained, scenes, tmp_path):
    run = tmp_path / "run"
    run.mkdir()
    document = json.loads((trained / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**document, "format": 99}))
    for words in (["info", run], ["resume", run], ["predict", run, scenes / "images", "--out", tmp_path / "maps"]):
        refused(call(*words), "format 99", "update neuralfactors")


def test_no_run_folder_and_a_damaged_one(call, tmp_path):
    refused(call("info", tmp_path), "is not a run folder")
    (tmp_path / "run.json").write_text('{"format": 3')
    refused(call("info", tmp_path), "run.json", "truncated or altered")


def test_a_run_of_another_shape(call, scenes, tmp_path):
    (tmp_path / "run.json").write_text(json.dumps(sealed({"format": 3})))
    pictures = scenes / "images"
    for name, *words in (["info"], ["resume"], ["evaluate", scenes], ["predict", pictures, "--out", tmp_path / "maps"]):
        refused(call(name, tmp_path, *words), "run.json does not describe a run")


def test_train_does_not_overwrite_a_run(call, trained, scenes):
    refused(call("train", scenes, "--out", trained), "already holds a run", "resume")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot lock folders")
def test_two_at_once_in_one_new_folder(call, scenes, cache, tmp_path):
    out, words = tmp_path / "run", [sys.executable, "-m", "neuralfactors", "train", str(scenes), "--cache", str(cache)]
    both = [
        subprocess.Popen([*words, "--out", str(out), "--seed", str(seed), *FAST], stderr=subprocess.PIPE, text=True)
        for seed in range(2)
    ]
    told = [process.communicate(timeout=120)[1] for process in both]
    codes = [process.returncode for process in both]
    assert sorted(codes) == [0, 1], told
    winner, loser = codes.index(0), told[codes.index(1)]
    assert "worked on by another process" in loser or "already holds a run" in loser
    assert "Traceback" not in loser
    assert json.loads((out / "run.json").read_text())["settings"]["seed"] == winner
    assert call("info", out).code == 0


def test_unknown_variant_and_unfinished_run(call, trained, scenes, tmp_path):
    refused(call("predict", trained, scenes / "images", "--out", tmp_path, "--variant", "CP"), "'CP'", "int+nrl")
    (tmp_path / "run.json").write_text((trained / "run.json").read_text())
    refused(call("predict", tmp_path, scenes / "images", "--out", tmp_path), "no finished model", "resume")


def test_evaluate_on_other_classes(call, trained, copied_scenes):
    (copied_scenes / "classes.txt").write_text("".join(f"{k} class{k}\n" for k in range(8)))
    refused(call("evaluate", trained, copied_scenes, "--split", "val"), "class1", "but the model knows")


def test_convert_of_an_unknown_set(call, tmp_path):
    refused(call("convert", "imagenet", tmp_path, tmp_path / "out"), "'imagenet'", "siftflow")


def test_usage_errors_have_their_own_code(call):
    result = call("train")
    assert result.code == 2
    assert "DATA" in result.err


def test_interrupted_run_resumes_to_the_same_model(call, scenes, cache, tmp_path):
    options = ("--regions", "30", "--epochs", "40", "--jobs", "1", "--cache", str(cache))
    command = [sys.executable, "-m", "neuralfactors", "train", str(scenes), "--out", str(tmp_path / "cut"), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    history = tmp_path / "cut/rows/int+nrl/history.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (history.exists() and len(history.read_text().splitlines()) >= 2):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130, err
    assert f"neuralfactors resume {tmp_path / 'cut'}" in err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "cut/rows/int+nrl/row.json").read_text())["status"] == "running"
    assert call("resume", tmp_path / "cut", "--jobs", "1", "--cache", cache).code == 0
    assert call("train", scenes, "--out", tmp_path / "whole", *options).code == 0
    models = [path for name in ("cut", "whole") for path in (tmp_path / name / "rows/int+nrl").glob("*.safetensors")]
    assert same_bytes(*models)
    assert len(history.read_text().splitlines()) == 40
