"""predict: label maps, overlays, confidences; and pictures that it refuses."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from commands import FAST, refused
from PIL import Image

from neuralfactors.datasets import ImageFolder, read_image, write_cells
from neuralfactors.segmentation import Segmenter


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
        labels = segmenter.predict_one(path)
        np.testing.assert_array_equal(np.asarray(written), labels + 1)  # index 0 is void
        np.testing.assert_array_equal(np.asarray(written.convert("RGB")), classes.palette[labels])
        assert read_image(tmp_path / "maps" / f"{path.stem}.overlay.jpg").shape == (48, 64, 3)
        confidence = np.asarray(Image.open(tmp_path / "maps" / f"{path.stem}.confidence.png"))
        np.testing.assert_array_equal(confidence, np.rint(255 * segmenter.confidence(path)))


def test_predict_leaves_hidden_files_of_a_folder_alone(call, trained, scenes, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new/._a.png").write_bytes(b"what macOS knows of a.png")
    result = call("predict", trained, tmp_path / "new", "--out", tmp_path / "maps")
    assert (result.code, result.err) == (1, f"Error: {tmp_path / 'new'} contains no picture\n")
    (tmp_path / "new/a.png").write_bytes((scenes / "images/scene_0003.png").read_bytes())
    assert call("predict", trained, tmp_path / "new", "--out", tmp_path / "maps").code == 0


def test_predict_tells_how_much_is_left(call, trained, scenes, tmp_path):
    told = call("predict", trained, scenes / "images", "--out", tmp_path).err.splitlines()
    assert "(1 of 12 done, about " in told[0]
    assert told[-1].endswith(".png (12 of 12 done)")


def test_predict_takes_a_folder_and_can_be_quiet(call, trained, scenes, tmp_path):
    result = call("predict", trained, scenes / "images", "--out", tmp_path, "--quiet")
    assert (result.code, result.out, result.err) == (0, "", "")
    assert len(list(tmp_path.glob("*.png"))) == 12


def test_truncated_jpeg(call, trained, truncated, tmp_path):
    refused(call("predict", trained, truncated, "--out", tmp_path / "maps"), "cut.jpg", "truncated")
    assert not (tmp_path / "maps").exists()


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
    refused(call("predict", trained, picture, "--out", tmp_path), "mine.png", "would be overwritten", "--out")
    assert picture.read_bytes() == before
    assert call("predict", trained, picture, "--out", tmp_path / "maps").code == 0


def test_no_picture(call, trained, tmp_path):
    (tmp_path / "empty").mkdir()
    refused(call("predict", trained, tmp_path / "gone.jpg", "--out", tmp_path), "gone.jpg", "does not exist")
    refused(call("predict", trained, tmp_path / "empty", "--out", tmp_path), "contains no picture")


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


def test_unknown_variant_and_unfinished_run(call, trained, scenes, tmp_path):
    refused(call("predict", trained, scenes / "images", "--out", tmp_path, "--variant", "CP"), "'CP'", "int+nrl")
    (tmp_path / "run.json").write_text((trained / "run.json").read_text())
    refused(call("predict", tmp_path, scenes / "images", "--out", tmp_path), "no finished model", "resume")


def test_a_picture_unlike_those_of_training_is_named(call, trained, tmp_path):
    deep = tmp_path / "deep.png"
    Image.fromarray(np.zeros((9, 9), dtype=np.uint16)).save(deep)
    refused(call("predict", trained, deep, "--out", tmp_path / "maps"), f"{deep}: the training images have 3 channels")


def test_pages_and_channels(call, cache, tmp_path):
    tifffile = pytest.importorskip("tifffile")
    data = write_cells(tmp_path / "cells", 5, shape=(48, 48))
    for path in sorted((data / "images").iterdir()):
        values = np.asarray(Image.open(path).convert("L")).astype(np.uint16) * 100
        path.unlink()
        tifffile.imwrite(path.with_suffix(".tif"), np.stack([values, values // 2]), photometric="minisblack")
    options = ("--cache", cache, *FAST, "--quiet")
    refused(call("train", data, "--out", tmp_path / "run", *options), "cells_0", "has 2 pages")
    refused(call("train", data, "--out", tmp_path / "run", "--pages", "slices", *options), "pages must be channels or")
    result = call("train", data, "--out", tmp_path / "run", "--pages", "channels", *options)
    assert result.code == 0, result.err
    assert call("evaluate", tmp_path / "run", data, "--split", "val", "--cache", cache).code == 0
    picture, maps = data / "images/cells_0000.tif", tmp_path / "maps"
    assert call("predict", tmp_path / "run", picture, "--out", maps).code == 0
    assert Image.open(maps / "cells_0000.overlay.jpg").size == (48, 48)
    told = refused(call("predict", tmp_path / "run", picture, "--out", maps, "--pages", "pictures"))
    assert "have 2 channels of 16 bits, but this image has 1 channel of 16 bits" in told
    assert call("report", tmp_path / "run").code == 0
