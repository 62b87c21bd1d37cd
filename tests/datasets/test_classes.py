import numpy as np
import pytest

from neuralfactors.datasets._classes import ClassEntry, Classes, spaced_colours

TEXT = """# index name R G B
0 Void 0 0 0
3 traffic light 10 20 30   # two words
1 cow 1 2 3

7 sky 9 9 9
"""


@pytest.fixture
def path(tmp_path):
    file = tmp_path / "classes.txt"
    file.write_text(TEXT)
    return file


def test_reading(path):
    classes = Classes.read(path)
    assert classes.names == ["traffic light", "cow", "sky"]
    assert classes.palette.tolist() == [[10, 20, 30], [1, 2, 3], [9, 9, 9]]


def test_palette_of_indices(path):
    palette = Classes.read(path).index_palette
    assert palette[[0, 1, 3, 7, 255]].tolist() == [[0, 0, 0], [1, 2, 3], [10, 20, 30], [9, 9, 9], [0, 0, 0]]


def test_writing_and_reading_again(path, tmp_path):
    classes = Classes.read(path)
    classes.write(tmp_path / "again.txt")
    assert Classes.read(tmp_path / "again.txt") == classes


def test_labels_of_indices(path):
    indices = np.array([[0, 3], [1, 7]], dtype=np.uint8)
    assert Classes.read(path).labels_of_indices(indices, "map").tolist() == [[-1, 0], [1, 2]]
    assert Classes.read(path, void=["cow"]).labels_of_indices(indices, "map").tolist() == [[-1, 0], [-1, 1]]


def test_labels_of_colours(path):
    colours = np.array([[[0, 0, 0], [10, 20, 30]], [[1, 2, 3], [9, 9, 9]]], dtype=np.uint8)
    assert Classes.read(path).labels_of_colours(colours, "map").tolist() == [[-1, 0], [1, 2]]


@pytest.mark.parametrize("name", ["void", "IGNORE", "Unlabelled", "unlabeled"])
def test_names_that_mean_void(name):
    assert Classes((ClassEntry(0, name), ClassEntry(1, "cow"))).names == ["cow"]


def test_missing_colours_are_made_up():
    classes = Classes((ClassEntry(0, "cow"), ClassEntry(1, "sky", (1, 2, 3)), ClassEntry(2, "sea")))
    assert classes.palette[1].tolist() == [1, 2, 3]
    assert len(np.unique(classes.palette, axis=0)) == 3
    assert len(set(spaced_colours(33))) == 33


def test_unknown_pixels_are_named(path):
    classes = Classes.read(path)
    with pytest.raises(ValueError, match=r"x.png has pixels of index 5, which classes.txt does not name"):
        classes.labels_of_indices(np.array([[5]]), "x.png")
    with pytest.raises(ValueError, match=r"x.png has pixels of colour \(8, 9, 255\)"):
        classes.labels_of_colours(np.array([[[8, 9, 255]]], dtype=np.uint8), "x.png")
    with pytest.raises(ValueError, match="has no colour for the class 'sea'"):
        Classes((ClassEntry(0, "sea"),)).labels_of_colours(np.zeros((1, 1, 3), dtype=np.uint8), "x.png")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cow 1", "line 1: expected 'index name"),
        ("1", "line 1: expected 'index name"),
        ("# none\n0 cow 1 2", "line 2: expected 'index name"),
        ("1 0 0 255", "line 1: expected 'index name"),
        ("0 void\n65536 cow", r"classes.txt, line 2: an index must be at most 65535, got 65536"),
        ("1 sky (0, 0, 255)", r"line 1: .* with only spaces between the numbers, got '1 sky \(0, 0, 255\)'"),
        ("1 sky (0 0 255)", "with only spaces"),
        ("1 sky [0,0,255]", "with only spaces"),
        ("1 sky rgb(0;0;255)", "with only spaces"),
        ("# none\n2 land 0,128,0", "line 2: .* with only spaces"),
        ("2 land 0, 128, 0", "with only spaces"),
        ("2 land 0 128 0,", "with only spaces"),
        ("0 cow 1 2 300", r"a colour must be three numbers up to 255, got \(1, 2, 300\)"),
        ("0 cow\n0 sky", "the index 0 occurs more than once"),
        ("0 cow\n1 cow", "the name cow occurs more than once"),
        ("# nothing", "contains no class"),
        ("0 void", "at least one class must not be void"),
    ],
)
def test_a_wrong_file_is_refused(tmp_path, text, message):
    (tmp_path / "classes.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        Classes.read(tmp_path / "classes.txt")


@pytest.mark.parametrize(
    "name", ["car 2", "grass, dry", "building (old)", "route 66, north", "road (2)", "B-52", "4x4"]
)
@pytest.mark.parametrize("colour", ["", " 1 2 3"])
def test_ordinary_names_are_accepted(tmp_path, name, colour):
    (tmp_path / "classes.txt").write_text(f"1 {name}{colour}\n65535 sky\n")
    assert Classes.read(tmp_path / "classes.txt").names == [name, "sky"]


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "utf-16-le"])
def test_another_encoding_is_named_with_the_file(tmp_path, encoding):
    (tmp_path / "classes.txt").write_text("0 vache\n1 forêt\n", encoding=encoding)
    with pytest.raises(ValueError, match=r"classes\.txt is not UTF-8 text"):
        Classes.read(tmp_path / "classes.txt")


def test_unknown_void_class(path):
    with pytest.raises(ValueError, match="there is no class 'dog'; the classes are Void, traffic light, cow, sky"):
        Classes.read(path, void=["dog"])


def test_no_file(tmp_path):
    with pytest.raises(ValueError, match="is missing: it names the classes"):
        Classes.read(tmp_path / "classes.txt")
