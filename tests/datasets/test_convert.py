"""Published layouts, as generated look-alikes."""

import shutil

import numpy as np
import pytest
from pictures import smooth_picture
from PIL import Image
from scipy.io import loadmat, savemat

from neuralfactors.datasets import ImageFolder
from neuralfactors.datasets._classes import ClassEntry, Classes
from neuralfactors.datasets._convert import CONVERTERS, KITTI, MSRC21, SIFTFLOW_FOLDER, write_folder

SHAPE = (12, 16)
RNG = np.random.default_rng(0)
SIFTFLOW_NAMES = ["awning", "sea", "sky"]


def write_picture(path, seed, **options):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(smooth_picture(SHAPE, seed)).save(path, **options)


def make_msrc21(root):
    names, truth = ["1_1_s", "2_7_s", "9_30_s"], {}
    for seed, name in enumerate(names):
        write_picture(root / "Images" / f"{name}.bmp", seed)
        truth[name] = RNG.integers(len(MSRC21), size=SHAPE)
        (root / "GroundTruth").mkdir(exist_ok=True)
        colours = np.array([colour for _, colour in MSRC21], dtype=np.uint8)[truth[name]]
        Image.fromarray(colours).save(root / "GroundTruth" / f"{name}_GT.bmp")
    (root / "TextonBoostSplits").mkdir()
    for file, name in zip(("Train.txt", "Validation.txt", "Test.txt"), names, strict=True):
        (root / "TextonBoostSplits" / file).write_text(f"{name}.bmp\r\n")
    return truth, {"train": ["1_1_s"], "val": ["2_7_s"], "test": ["9_30_s"]}, [name for name, _ in MSRC21[1:]]


def make_kitti(root):
    truth = {}
    for seed, (sequence, name) in enumerate(
        [("Training_00", "000000"), ("Training_00", "000020"), ("Validation_07", "000000")]
    ):
        write_picture(root / sequence / "RGB" / f"{name}.png", seed)
        indices = truth[f"{sequence}_{name}"] = RNG.integers(len(KITTI), size=SHAPE)
        (root / sequence / "GT").mkdir(exist_ok=True)
        colours = np.array([colour for _, colour in KITTI], dtype=np.uint8)
        pixels = indices.astype(np.uint8) if seed == 1 else colours[indices]  # both kinds of label maps occur
        Image.fromarray(pixels).save(root / sequence / "GT" / f"{name}.png")
    splits = {"train": ["Training_00_000000", "Training_00_000020"], "test": ["Validation_07_000000"]}
    return truth, splits, [name for name, _ in KITTI[1:]]


def make_siftflow(root):
    truth = {}
    for seed, name in enumerate(["coast_a", "coast_b", "street_c"]):
        write_picture(root / "Images" / SIFTFLOW_FOLDER / f"{name}.jpg", seed)
        truth[name] = RNG.integers(len(SIFTFLOW_NAMES) + 1, size=SHAPE)
        folder = root / "SemanticLabels" / SIFTFLOW_FOLDER
        folder.mkdir(parents=True, exist_ok=True)
        names = np.array(SIFTFLOW_NAMES, dtype=object)[:, None]
        savemat(folder / f"{name}.mat", {"S": truth[name].astype(np.uint8), "names": names})
    (root / "TestSet1.txt").write_text(f"{SIFTFLOW_FOLDER}\\coast_b.jpg\r\n")
    return truth, {"train": ["coast_a", "street_c"], "test": ["coast_b"]}, SIFTFLOW_NAMES


MAKERS = {"msrc21": make_msrc21, "kitti": make_kitti, "siftflow": make_siftflow}


@pytest.mark.parametrize("name", MAKERS)
def test_published_layouts(tmp_path, name):
    source = tmp_path / "published"
    source.mkdir()
    truth, splits, names = MAKERS[name](source)
    assert CONVERTERS[name](source, tmp_path / "set") == len(truth)
    folder = ImageFolder(tmp_path / "set")
    assert folder.classes.names == names
    assert folder.splits == splits
    for split in splits:
        for sample in folder[split]:
            image, labels = sample.read()
            np.testing.assert_array_equal(labels, truth[sample.name] - 1)  # index 0 is void
            assert image.shape == (*SHAPE, 3)


def test_pictures_are_kept_as_they_are(tmp_path):
    make_msrc21(tmp_path)
    CONVERTERS["msrc21"](tmp_path, tmp_path / "set")
    sample = ImageFolder(tmp_path / "set")["train"][0]
    np.testing.assert_array_equal(sample.read_image(), smooth_picture(SHAPE, 0))


def test_without_lists_there_is_a_random_split(tmp_path):
    make_siftflow(tmp_path)
    (tmp_path / "TestSet1.txt").unlink()
    CONVERTERS["siftflow"](tmp_path, tmp_path / "set")
    assert {len(names) for names in ImageFolder(tmp_path / "set").splits.values()} == {1}


@pytest.mark.parametrize("name", MAKERS)
def test_a_missing_source_is_named(tmp_path, name):
    with pytest.raises(ValueError, match="nowhere is not a folder"):
        CONVERTERS[name](tmp_path / "nowhere", tmp_path / "set")
    with pytest.raises(ValueError, match=r"contains no \*|has no folder SEQUENCE/RGB"):
        CONVERTERS[name](tmp_path, tmp_path / "set")


def test_nothing_is_overwritten(tmp_path):
    make_msrc21(tmp_path)
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "precious.txt").write_text("")
    with pytest.raises(ValueError, match="set is not empty"):
        CONVERTERS["msrc21"](tmp_path, tmp_path / "set")


def test_a_label_file_that_is_not_one(tmp_path):
    make_siftflow(tmp_path)
    path = tmp_path / "SemanticLabels" / SIFTFLOW_FOLDER / "coast_a.mat"
    path.write_bytes(b"no mat file")
    with pytest.raises(ValueError, match=r"coast_a.mat is not a label file with 'S' and 'names'"):
        CONVERTERS["siftflow"](tmp_path, tmp_path / "set")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"names": np.array(SIFTFLOW_NAMES[::-1], dtype=object)}, "coast_b.mat has other classes than .*coast_a.mat"),
        ({"S": np.full((24, 32), 9, np.uint8)}, "coast_b.mat has other classes than .*coast_a.mat, or pixels of none"),
    ],
)
def test_files_must_have_the_same_classes(tmp_path, change, message):
    make_siftflow(tmp_path)
    path = tmp_path / "SemanticLabels" / SIFTFLOW_FOLDER / "coast_b.mat"
    content = loadmat(path)
    savemat(path, {**{name: content[name] for name in ("S", "names")}, **change})
    with pytest.raises(ValueError, match=message):
        CONVERTERS["siftflow"](tmp_path, tmp_path / "set")


@pytest.mark.parametrize(
    ("listed", "message"),
    [
        ("coast_b.jpg\nharbour_z.jpg", "TestSet1.txt names harbour_z, which has no label map in"),
        ("coast_b.jpg\ncoast_b.jpg", "TestSet1.txt names coast_b more than once"),
    ],
)
def test_a_test_set_names_pictures_of_the_set_once(tmp_path, listed, message):
    make_siftflow(tmp_path)
    (tmp_path / "TestSet1.txt").write_text(listed)
    with pytest.raises(ValueError, match=message):
        CONVERTERS["siftflow"](tmp_path, tmp_path / "set")
    assert not (tmp_path / "set").exists()


def test_an_unknown_colour_is_named(tmp_path):
    make_msrc21(tmp_path)
    Image.new("RGB", SHAPE[::-1], (1, 2, 3)).save(tmp_path / "GroundTruth" / "1_1_s_GT.bmp")
    with pytest.raises(ValueError, match=r"1_1_s_GT.bmp has pixels of colour \(1, 2, 3\)"):
        CONVERTERS["msrc21"](tmp_path, tmp_path / "set")


def remove_image(source):
    (source / "Images" / "9_30_s.bmp").unlink()


def name_a_missing_one(source):
    (source / "TextonBoostSplits" / "Test.txt").write_text("cow.bmp\n")


def name_one_twice(source):
    (source / "TextonBoostSplits" / "Test.txt").write_text("2_7_s.bmp\n2_7_s.bmp\n")


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (remove_image, r"9_30_s\.bmp does not exist"),
        (name_a_missing_one, r"Test\.txt names cow, which has no label map in .*GroundTruth"),
        (name_one_twice, r"Test\.txt names 2_7_s more than once"),
    ],
)
def test_a_failure_leaves_nothing_and_the_next_attempt_succeeds(tmp_path, harm, message, exists):
    source, place = tmp_path / "published", tmp_path / "place"
    for folder in (source, place):
        folder.mkdir()
    make_msrc21(source)
    shutil.copytree(source, tmp_path / "whole")
    harm(source)
    if exists:
        (place / "set").mkdir()
    with pytest.raises(ValueError, match=message):
        CONVERTERS["msrc21"](source, place / "set")
    assert list(place.rglob("*")) == ([place / "set"] if exists else [])
    assert CONVERTERS["msrc21"](tmp_path / "whole", place / "set") == 3
    assert {path.name for path in (place / "set").iterdir()} == {"images", "labels", "splits", "classes.txt"}
    assert [path.name for path in place.iterdir()] == ["set"]


def test_the_working_folder_may_be_the_target(tmp_path, monkeypatch):
    make_msrc21(tmp_path)
    (tmp_path / "set").mkdir()
    monkeypatch.chdir(tmp_path / "set")
    assert CONVERTERS["msrc21"](tmp_path, ".") == 3
    assert len(ImageFolder(".")) == 3


def test_more_classes_than_a_palette_has_colours(tmp_path):
    write_picture(tmp_path / "a.png", 0)
    classes = Classes(tuple(ClassEntry(k, f"class{k}", (0, k % 256, k // 256)) for k in range(300)))
    truth = RNG.integers(300, size=SHAPE)
    assert write_folder(tmp_path / "set", [("a", tmp_path / "a.png", truth)], classes, {"train": ["a"]}) == 1
    (sample,) = ImageFolder(tmp_path / "set")["train"]
    np.testing.assert_array_equal(sample.read_labels(), truth)
