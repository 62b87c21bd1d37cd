import pickle
import shutil
from itertools import chain

import numpy as np
import pytest
from PIL import Image

from neuralfactors.datasets import ImageFolder, write_scenes
from neuralfactors.datasets._folder import random_split


@pytest.fixture
def root(tmp_path):
    return write_scenes(tmp_path / "set", 10, shape=(30, 40))


def test_samples_by_split(root):
    folder = ImageFolder(root)
    assert {split: len(folder[split]) for split in folder.splits} == {"test": 2, "train": 6, "val": 2}
    assert len(folder["train+val"]) == 8
    assert len(folder) == 10
    image, labels = folder["train"][0].read()
    assert image.shape == (30, 40, 3)
    assert labels.shape == (30, 40)
    assert -1 <= labels.min() <= labels.max() < len(folder.classes.names) == 7


def test_files_may_begin_with_a_byte_order_mark(root):
    for path in (root / "classes.txt", root / "splits/train.txt"):
        path.write_text(path.read_text(), encoding="utf-8-sig")
    assert len(ImageFolder(root)["train"]) == 6


def test_dropped_classes_are_void(root):
    folder = ImageFolder(root, drop=["sky"], void=["water"])
    assert folder.classes.names == ["mountain", "forest", "meadow", "balloon", "boat"]
    whole = {sample.name: sample for split in ImageFolder(root).splits for sample in ImageFolder(root)[split]}
    for sample in folder["train"]:
        expected = whole[sample.name].read_labels()
        np.testing.assert_array_equal(sample.read_labels(), np.where(expected >= 2, expected - 2, -1))


def test_a_random_split_where_none_is_given(root):
    shutil.rmtree(root / "splits")
    first, second = ImageFolder(root, random_state=1), ImageFolder(root, random_state=1)
    assert first.splits == second.splits != ImageFolder(root, random_state=2).splits
    assert sorted(chain(*first.splits.values())) == [f"scene_{k:04d}" for k in range(10)]


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 100])
def test_random_split_deals_out_everything(n):
    names = [str(k) for k in range(n)]
    splits = random_split(names, {"train": 0.6, "val": 0.2, "test": 0.2})
    assert sorted(chain(*splits.values())) == sorted(names)
    assert [bool(members) for members in splits.values()] == [n > k for k in range(3)]


@pytest.mark.parametrize("n", [3, 5, 20, 51])
def test_a_name_more_moves_hardly_any_other(n):
    names, shares = [f"IMG_{k}" for k in range(n)], {"train": 0.6, "val": 0.2, "test": 0.2}
    for seed in range(10):
        before, after = random_split(names, shares, seed), random_split(["IMG_00", *names], shares, seed)
        assert not set(before["train"]) & set(after["test"])
        assert not set(before["test"]) & set(after["train"])
        for one, other in (("train", "val"), ("val", "test")):
            crossed = set(before[one]) & set(after[other]) | set(before[other]) & set(after[one])
            assert len(crossed) <= 1


def test_names_with_spaces_in_a_split(root):
    for part in ("images", "labels"):
        (root / part / "scene_0000.png").rename(root / part / "my scene.png")
    (root / "splits" / "train.txt").write_text("  my scene \r\n\nscene_0001\n")
    for split in ("val", "test"):
        (root / "splits" / f"{split}.txt").write_text("")
    assert ImageFolder(root).splits == {"train": ["my scene", "scene_0001"], "val": [], "test": []}


def test_samples_travel_to_other_processes(root):
    sample = ImageFolder(root)["val"][0]
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sample.read_image))(), sample.read_image())


def test_images_without_labels_are_left_out_and_counted(root, caplog):
    caplog.set_level("INFO", logger="neuralfactors")
    ImageFolder(root)
    assert caplog.messages == []
    for name in ("scene_0003.png", "scene_0005.png"):
        (root / "labels" / name).unlink()
    shutil.rmtree(root / "splits")
    assert len(ImageFolder(root)) == 8
    assert caplog.messages == [f"2 of 10 images in {root / 'images'} have no label map and are left out"]


def name_twice(root):
    (root / "splits" / "test.txt").write_text("scene_0001\nscene_0000\n scene_0001\n")


def name_a_file(root):
    (root / "splits" / "test.txt").write_text("images/scene_0001.png")


def break_encoding(root):
    (root / "splits" / "test.txt").write_text("scène\n", encoding="latin-1")


def break_size(root):
    Image.fromarray(np.zeros((3, 4, 3), dtype=np.uint8)).save(root / "images" / "scene_0000.png")
    (root / "splits" / "test.txt").write_text("scene_0000")


def break_index(root):
    Image.fromarray(np.full((30, 40), 99, dtype=np.uint8)).save(root / "labels" / "scene_0000.png")
    (root / "splits" / "test.txt").write_text("scene_0000")


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (shutil.rmtree, "set is not a folder"),
        (lambda root: shutil.rmtree(root / "images"), "images is missing"),
        (
            lambda root: shutil.rmtree(root / "labels"),
            "labels is missing: a picture is images/NAME.jpg, its label map labels/NAME.png",
        ),
        (lambda root: (root / "classes.txt").unlink(), "classes.txt is missing"),
        (lambda root: (root / "images" / "scene_0002.png").unlink(), "scene_0002.png is a label map without an image"),
        (lambda root: [path.unlink() for path in (root / "labels").iterdir()], "labels contains no label map"),
        (lambda root: (root / "splits" / "test.txt").write_text("cow"), "test.txt names cow, which has no label map"),
        (name_a_file, r"names images/scene_0001.png, which has no label map in .*: write scene_0001, without folder"),
        (name_twice, "test.txt names scene_0001 more than once"),
        (break_encoding, "test.txt is not UTF-8 text"),
        (lambda root: (root / "splits" / "test.txt").unlink(), "there is no split 'test' in .*; there are train, val"),
        (lambda root: (root / "images" / "scene_0001.jpg").write_text(""), "scene_0001.png have the same name"),
        (break_size, r"scene_0000.png is 40 × 30, but the image is 4 × 3"),
        (break_index, r"scene_0000.png has pixels of index 99, which classes.txt does not name"),
    ],
)
def test_what_is_wrong_with_a_folder_is_said(root, harm, message):
    harm(root)
    with pytest.raises(ValueError, match=message):
        ImageFolder(root)["test"][0].read()


@pytest.mark.parametrize(
    ("harm", "message"), [(break_size, r"is 40 × 30, but the image is 4 × 3"), (break_index, "pixels of index 99")]
)
def test_check_finds_what_read_would(root, harm, message):
    for sample in ImageFolder(root)["test"]:
        sample.check()
    harm(root)
    with pytest.raises(ValueError, match=message):
        ImageFolder(root)["test"][0].check()


def test_hidden_files_are_no_pictures(root):
    for part in ("images", "labels"):
        (root / part / "._scene_0000.png").write_bytes(b"what macOS knows of scene_0000.png")
    whole = ImageFolder(root)
    assert all(not sample.name.startswith(".") for split in whole.splits for sample in whole[split])
    assert len(whole) == len(list((root / "labels").glob("scene_*.png")))


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("name", "drop", "sizes", "n_labels"),
    [
        ("msrc21", ["horse", "mountain"], {"train": 276, "val": 59, "test": 256}, 21),
        ("kitti", ["sign", "pedestrian", "cyclist"], {"train_ros100": 100, "test": 46}, 8),
        ("siftflow", [], {"train": 2488, "test": 200}, 33),
    ],
)
def test_real_sets(data_dir, name, drop, sizes, n_labels):
    folder = ImageFolder(data_dir / name, drop=drop)
    assert {split: len(folder[split]) for split in sizes} == sizes
    assert len(folder.classes.names) == n_labels
    image, labels = folder["test"][0].read()
    assert image.dtype == np.uint8
    assert labels.max() < n_labels
