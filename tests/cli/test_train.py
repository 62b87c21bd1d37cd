"""train: the run folder that it leaves, and data that it refuses."""

import json
import shlex
import subprocess
import sys

import numpy as np
import pytest
from commands import FAST, refused
from PIL import Image

from neuralfactors._common.files import sealed
from neuralfactors._runs.documents import FORMAT
from neuralfactors.datasets import ImageFolder, write_cells, write_scenes


@pytest.fixture
def train(call, cache, tmp_path):
    return lambda data, *more: call("train", data, "--out", tmp_path / "run", "--cache", cache, *FAST, *more)


def test_train_leaves_a_run_folder(trained, scenes):
    document = json.loads((trained / "run.json").read_text())
    assert document["format"] == FORMAT
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


def test_regions_as_fine_as_thin_membranes_and_what_is_told_of_them(call, cache, tmp_path):
    data = write_cells(tmp_path / "cells", 5, shape=(256, 256))
    common = ("--cache", cache, "--epochs", "1", "--jobs", "1")
    result = call("train", data, "--out", tmp_path / "coarse", "--regions", "60", *common)
    assert result.code == 0, result.err
    assert "Regions: about " in result.err
    assert "are too coarse: giving each the label that most of its pixels have would be right on " in result.err
    result = call("train", data, "--out", tmp_path / "fine", *common)
    assert "chosen by the labels of training images; their ceiling is 9" in result.err
    assert "which maps refined to pixels may exceed" in result.err
    regions = json.loads((tmp_path / "fine/regions.json").read_text())
    assert regions["chosen"]
    assert regions["n_regions"] >= 600
    metrics = json.loads((tmp_path / "fine/rows/int+nrl/metrics.json").read_text())
    assert metrics["ceiling"]["pixel"] >= metrics["pixel"]


def test_regions_of_ones_own(call, cache, tmp_path):
    data, maps = write_cells(tmp_path / "cells", 5, shape=(64, 64)), tmp_path / "maps"
    maps.mkdir()
    numbers = np.add.outer(np.arange(64) // 8 * 8, np.arange(64) // 8)
    for n, path in enumerate(sorted((data / "images").iterdir())):
        if n % 2:
            np.save(maps / f"{path.stem}.npy", 1000 * numbers)
        else:
            Image.fromarray(numbers.astype(np.uint8)).save(maps / path.name)
    own = ("--regions-from", maps)
    options = ("--cache", cache, "--epochs", "1", "--jobs", "1")
    run = tmp_path / "run"
    refused(call("train", data, "--out", run, *own, "--regions", "30"), "regions-from exclude each other")
    result = call("train", data, "--out", run, *own, *options)
    assert result.code == 0, result.err
    assert "Regions: about 64 an image (your own)" in result.err
    assert call("evaluate", run, data, "--split", "val", "--cache", cache).code == 0
    pictures = data / "images"
    refused(
        call("predict", run, pictures, "--out", tmp_path / "out"), "regions of your own, but the image comes with none"
    )
    assert call("predict", run, pictures, "--out", tmp_path / "out", *own).code == 0
    blocks = np.asarray(Image.open(tmp_path / "out" / "cells_0000.png")).reshape(8, 8, 8, 8)
    assert (blocks == blocks[:, :1, :, :1]).all()
    (maps / "cells_0003.npy").unlink()
    refused(call("train", data, "--out", tmp_path / "other", *own), "has no regions of cells_0003")


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
    assert "Images: 5 for training, 1 for validation, 1 for evaluation, drawn at random" in result.err


def test_commands_to_go_on_with_can_be_typed_as_they_stand(call, scenes, cache, tmp_path):
    """Where the name of a folder has spaces, or begins as an option does."""
    place, options = tmp_path / "my runs", ("--cache", cache, *FAST)
    place.mkdir()
    result = call("train", scenes, "--out", place / "a run", *options)
    next_words = shlex.split(next(line.partition("Next: ")[2] for line in result.err.splitlines() if "Next: " in line))
    assert next_words[:3] == ["neuralfactors", "predict", str(place / "a run")]
    document = json.loads((place / "a run/run.json").read_text())
    (place / "-cut").mkdir()
    (place / "-cut/run.json").write_text(json.dumps(sealed({**document, "finished": None})))
    picture = scenes / "images/scene_0003.png"
    told = call("info", "./-cut", cwd=place).out
    assert "not yet; to continue: neuralfactors resume ./-cut\n" in told
    assert "neuralfactors resume ./-cut'" in call("train", scenes, "--out=-cut", cwd=place).err
    assert "neuralfactors resume ./-cut'" in call("predict", "./-cut", picture, "--out", tmp_path, cwd=place).err


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


def test_truncated_jpeg_among_training_images(train, copied_scenes, truncated):
    (copied_scenes / "images" / "scene_0003.png").unlink()
    target = copied_scenes / "images" / "scene_0003.jpg"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (48, 64, 3), dtype=np.uint8)).save(target)
    target.write_bytes(target.read_bytes()[:1200])
    (copied_scenes / "splits" / "train.txt").write_text("scene_0003\nscene_0004\n")
    refused(train(copied_scenes), "scene_0003.jpg", "truncated")


def test_unwritable_output(call, trained, scenes, cache, tmp_path):
    picture = scenes / "images" / "scene_0000.png"
    (tmp_path / "file").write_text("")
    refused(call("predict", trained, picture, "--out", tmp_path / "file" / "maps"), tmp_path / "file")
    refused(call("train", scenes, "--out", tmp_path / "file" / "run", "--cache", cache, *FAST), tmp_path / "file")


def test_disk_full_while_training(call, scenes, tmp_path):
    options = ("--out", tmp_path / "run", "--cache", tmp_path / "cache", *FAST)
    refused(call("train", scenes, *options, max_bytes=20_000), "File too large", tmp_path / "run")
    assert not [path for path in (tmp_path / "run").rglob(".*") if path.is_file()]
    finished = call("resume", tmp_path / "run", "--cache", tmp_path / "cache", "--jobs", "1")  # there is room again
    assert finished.code == 0, finished.err
    assert [line.split()[0] for line in finished.out.splitlines()] == ["variant", "int+nrl"]  # progress goes elsewhere


def test_train_does_not_overwrite_a_run(call, trained, scenes):
    refused(call("train", scenes, "--out", trained), "already contains a run", "resume")


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
    assert "in use by another process" in loser or "already contains a run" in loser
    assert "Traceback" not in loser
    assert json.loads((out / "run.json").read_text())["settings"]["seed"] == winner
    assert call("info", out).code == 0


def test_features_of_ones_own(call, scenes, cache, tmp_path):
    own = tmp_path / "features"
    own.mkdir()
    for sample in (sample for split in ImageFolder(scenes).splits for sample in ImageFolder(scenes)[split]):
        labels = sample.read_labels()
        np.save(own / f"{sample.name}.npy", np.stack([labels == k for k in range(6)], axis=2))
    run, options = tmp_path / "run", ("--cache", cache, *FAST, "--quiet")
    refused(call("train", scenes, "--out", run, "--features", "own", *options), "say where they are by features-from")
    result = call("train", scenes, "--out", run, "--features", "own", "--features-from", own, *options)
    assert result.code == 0, result.err
    judged = json.loads(call("evaluate", run, scenes, "--features-from", own, "--cache", cache, "--json").out)
    assert judged["pixel"] > 0.7
    picture, maps = scenes / "images/scene_0000.png", tmp_path / "maps"
    refused(call("predict", run, picture, "--out", maps), "the features are your own, but the image comes with none")
    assert call("predict", run, picture, "--out", maps, "--features-from", own).code == 0
    refused(call("predict", run, picture, "--out", maps, "--features-from", tmp_path), "has no features of scene_0000")
    both = ("compare", scenes, "--out", tmp_path / "rows", "--variants", "unary", "--features-from", own, *options)
    assert call(*both).code == 0
    (own / "scene_0003.npy").write_bytes(b"cut")
    refused(call("train", scenes, "--out", tmp_path / "cut", "--features-from", own, *options), "scene_0003.npy")


def test_a_model_by_the_literal_procedure_with_one_thing_changed(call, scenes, cache, tmp_path):
    options = ("--procedure", "literal", "--set", "words__root=true", "--set", "C=3", "--set", "cost=pixel")
    result = call("train", scenes, "--out", tmp_path / "run", "--cache", cache, *FAST, *options)
    assert result.code == 0, result.err
    told = json.loads(call("info", tmp_path / "run", "--json").out)
    assert told["settings"]["procedure"] == "literal"
    assert told["settings"]["features"] == {"words__softness": 0.0, "words__root": True, "standardise": False} | {
        "features": "bow", "n_regions": 30,
    }  # fmt: skip
    (row,) = [each["row"] for each in told["rows"]]
    model = row["settings"]["model"]
    assert (model["C"], model["trainer__optimizer"], model["decoder__method"]) == (3, "sgd", "alpha-expansion")
    assert (row["cost"], row["balance"]) == ("pixel", 1.0)


def test_what_nothing_has_cannot_be_set(call, scenes, tmp_path):
    refused(call("train", scenes, "--out", tmp_path / "run", "--set", "sharpness=3"), "no parameter 'sharpness'")
    refused(call("train", scenes, "--out", tmp_path / "run", "--procedure", "fast"), "usual, literal")
    assert not (tmp_path / "run").exists()
