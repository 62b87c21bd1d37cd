import os

import numpy as np
import pytest
from pictures import smooth_picture
from PIL import Image

from neuralfactors.datasets import colour_labels, read_image, read_labels, write_image, write_label_map
from neuralfactors.datasets._classes import ClassEntry, Classes
from neuralfactors.datasets._images import image_shape, read_regions

CLASSES = Classes((ClassEntry(0, "void", (0, 0, 0)), ClassEntry(1, "cow", (9, 0, 0)), ClassEntry(2, "sky", (0, 0, 9))))
INDICES = np.array([[0, 1, 2], [2, 1, 0]], dtype=np.uint8)
LABELS = [[-1, 0, 1], [1, 0, -1]]


@pytest.mark.parametrize("suffix", ["png", "bmp", "webp", "tiff"])
def test_pictures(tmp_path, suffix):
    image = smooth_picture((12, 17))
    Image.fromarray(image).save(tmp_path / f"a.{suffix}", lossless=True)
    np.testing.assert_array_equal(read_image(tmp_path / f"a.{suffix}"), image)


def test_grey(tmp_path):
    grey = smooth_picture((5, 6))[..., 0]
    Image.fromarray(grey).save(tmp_path / "a.png")
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), np.repeat(grey[..., None], 3, axis=2))


@pytest.mark.parametrize("read", [read_image, lambda path: read_labels(path, CLASSES)], ids=["image", "labels"])
def test_a_flipped_bit_in_a_png_is_refused(tmp_path, read):
    path = tmp_path / "a.png"
    write_label_map(path, np.tile(INDICES, (9, 7)), CLASSES.index_palette)
    whole = path.read_bytes()
    start = whole.index(b"IDAT") + 4
    end = start + int.from_bytes(whole[start - 8 : start - 4], "big")
    for place in range(8 * start, 8 * end):
        damaged = bytearray(whole)
        damaged[place // 8] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"a\.png could not be read as an image: "):
            read(path)


def test_a_png_without_data_is_refused(tmp_path):
    path = tmp_path / "a.png"
    write_image(path, smooth_picture((5, 6)))
    whole = path.read_bytes()
    path.write_bytes(whole[: whole.index(b"IDAT") - 4] + whole[-12:])
    with pytest.raises(ValueError, match=r"a\.png could not be read as an image"):
        read_image(path)


@pytest.mark.parametrize(("name", "dtype"), [("a.png", np.uint16), ("a.tif", np.uint16), ("a.tif", np.float32)])
def test_deep_pictures_keep_their_values(tmp_path, name, dtype):
    deep = np.array([[0, 257, 65535], [128, 129, 32768]], dtype=dtype)
    Image.fromarray(deep).save(tmp_path / name)
    found = read_image(tmp_path / name)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found[..., 0], deep)


@pytest.mark.parametrize("shape", [(5, 6), (5, 6, 1), (5, 6, 7)])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float64])
def test_arrays_are_pictures(tmp_path, shape, dtype):
    values = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    np.save(tmp_path / "a.npy", values)
    found = read_image(tmp_path / "a.npy")
    assert image_shape(tmp_path / "a.npy") == (5, 6)
    np.testing.assert_array_equal(found[..., :1], values.reshape(5, 6, -1)[..., :1])
    assert found.shape[2] == (3 if dtype == np.uint8 and shape[2:] != (7,) else values.reshape(5, 6, -1).shape[2])


def test_arrays_that_are_no_pictures_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", np.zeros(3))
    for function in (read_image, image_shape):
        with pytest.raises(ValueError, match=r"a\.npy must be a picture of shape \(H, W\) or \(H, W, C\), got \(3,\)"):
            function(tmp_path / "a.npy")


def test_values_that_are_not_finite_are_refused(tmp_path):
    Image.fromarray(np.array([[-1.0, np.nan]], dtype=np.float32)).save(tmp_path / "a.tiff")
    with pytest.raises(ValueError, match=r"a\.tiff contains numbers that are not finite"):
        read_image(tmp_path / "a.tiff")


def test_label_maps_may_be_arrays_and_pages(tmp_path):
    np.save(tmp_path / "a.npy", INDICES)
    pages = [Image.fromarray(np.roll(INDICES, n)) for n in range(3)]
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:])
    for n in (0, 1):
        page = read_labels(tmp_path / "a.tif", CLASSES, page=n)
        np.testing.assert_array_equal(page, np.roll(read_labels(tmp_path / "a.npy", CLASSES), n))
    with pytest.raises(ValueError, match=r"a\.tif could not be .*: it has 3 pages, but its picture has more"):
        read_labels(tmp_path / "a.tif", CLASSES, page=3)
    for read in (lambda path: read_labels(path, CLASSES), read_regions):  # which of them, nobody has said
        with pytest.raises(ValueError, match=r"a\.tif could not be .*: it has 3 pages, where one is expected"):
            read(tmp_path / "a.tif")


def test_transparency_is_laid_on_white(tmp_path):
    pixels = np.array([[[10, 20, 30, 255], [10, 20, 30, 0]]], dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    assert read_image(tmp_path / "a.png").tolist() == [[[10, 20, 30], [255, 255, 255]]]


def test_palette(tmp_path):
    picture = Image.fromarray(INDICES, mode="P")
    picture.putpalette([1, 2, 3, 4, 5, 6, 7, 8, 9])
    picture.save(tmp_path / "a.png")
    assert read_image(tmp_path / "a.png")[0].tolist() == [[1, 2, 3], [4, 5, 6], [7, 8, 9]]


def test_palette_of_another_order_is_refused(tmp_path):
    picture = Image.fromarray(INDICES, mode="P")
    picture.putpalette([0, 0, 0, 9, 0, 0, 0, 0, 9])  # as in CLASSES
    picture.save(tmp_path / "a.png")
    assert read_labels(tmp_path / "a.png", CLASSES).tolist() == LABELS
    picture.putpalette([9, 0, 0, 0, 0, 0, 0, 0, 9])
    picture.save(tmp_path / "b.png")
    with pytest.raises(ValueError, match=r"b\.png shows index 0 in the colour of 'cow', which has another index"):
        read_labels(tmp_path / "b.png", CLASSES)
    picture.putpalette([50, 60, 70, 80, 90, 100, 110, 120, 130])  # colours that mean nothing
    picture.save(tmp_path / "c.png")
    assert read_labels(tmp_path / "c.png", CLASSES).tolist() == LABELS


def test_two_classes_of_one_colour(tmp_path):
    colours = {"cow": (9, 0, 0), "sky": (0, 0, 9), "calf": (9, 0, 0)}
    entries = [ClassEntry(k, name, colour) for k, (name, colour) in enumerate(colours.items())]
    Image.fromarray(np.full((2, 2, 3), (0, 0, 9), dtype=np.uint8)).save(tmp_path / "a.png")
    with pytest.raises(ValueError, match="'cow' and 'calf' share a colour"):
        read_labels(tmp_path / "a.png", Classes(tuple(entries)))
    both_void = Classes(tuple(entries), frozenset({"cow", "calf"}))
    assert read_labels(tmp_path / "a.png", both_void).tolist() == [[0, 0], [0, 0]]


def test_indices_beyond_a_palette(tmp_path):
    classes = Classes((ClassEntry(7, "cow"), ClassEntry(3000, "sky")))
    write_label_map(tmp_path / "a.png", np.array([[7, 3000]]), classes.index_palette)
    assert read_labels(tmp_path / "a.png", classes).tolist() == [[0, 1]]


def test_exif_orientation(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned clockwise
    image = smooth_picture((10, 16))
    Image.fromarray(image).save(tmp_path / "a.png", exif=exif)
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), np.rot90(image, -1))


def test_label_maps_of_indices(tmp_path):
    write_label_map(tmp_path / "p.png", INDICES, np.array([[0, 0, 0], [9, 0, 0], [0, 0, 9]]))
    assert Image.open(tmp_path / "p.png").mode == "P"
    assert read_image(tmp_path / "p.png")[0].tolist() == [[0, 0, 0], [9, 0, 0], [0, 0, 9]]
    Image.fromarray(INDICES).save(tmp_path / "l.png")
    for name in ("p.png", "l.png"):
        assert read_labels(tmp_path / name, CLASSES).tolist() == LABELS


def test_label_maps_of_colours(tmp_path):
    colours = colour_labels(np.array(LABELS), CLASSES.palette)
    Image.fromarray(colours).save(tmp_path / "a.bmp")
    assert read_labels(tmp_path / "a.bmp", CLASSES).tolist() == LABELS


@pytest.mark.parametrize("quality", [75, 100])
def test_label_maps_with_loss_are_refused(tmp_path, quality):
    # Of these noisy indices each is that of some class, so that nothing else could tell.
    classes = Classes(tuple(ClassEntry(k, f"class {k}") for k in range(256)))
    exif = Image.Exif()
    exif[0x0112] = 6
    Image.fromarray(INDICES.repeat(8, axis=0)).save(tmp_path / "a.png", format="JPEG", quality=quality, exif=exif)
    with pytest.raises(ValueError, match=r"a\.png is a JPEG, whose compression changes labels: .* as PNG"):
        read_labels(tmp_path / "a.png", classes)


def test_what_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"a.png does not exist"):
        read_image(tmp_path / "a.png")
    (tmp_path / "b.png").write_text("no picture")
    with pytest.raises(ValueError, match=r"b.png is not an image that Pillow can read"):
        read_image(tmp_path / "b.png")
    Image.fromarray(smooth_picture((64, 64))).save(tmp_path / "whole.jpg")
    (tmp_path / "c.jpg").write_bytes((tmp_path / "whole.jpg").read_bytes()[:-400])
    with pytest.raises(ValueError, match=r"c.jpg could not be read as an image: .*truncated"):
        read_image(tmp_path / "c.jpg")


def test_label_maps_of_other_kinds_are_refused(tmp_path):
    Image.fromarray(np.zeros((2, 2), dtype=np.float32)).save(tmp_path / "a.tiff")
    with pytest.raises(ValueError, match="must be a label map of one channel or RGB, got the mode F"):
        read_labels(tmp_path / "a.tiff", CLASSES)
    with pytest.raises(ValueError, match="indices must be 0 to 65535"):
        write_label_map(tmp_path / "b.png", np.array([[65536]]), np.zeros((1, 3)))


@pytest.mark.parametrize("suffix", ["jpg", "png", "tif", "webp"])
@pytest.mark.parametrize("orientation", range(1, 9))
def test_shape_from_the_header_is_that_of_the_upright_picture(tmp_path, orientation, suffix):
    exif, path = Image.Exif(), tmp_path / f"a.{suffix}"
    exif[0x0112] = orientation
    Image.fromarray(smooth_picture((20, 30))).save(path, exif=exif)
    assert image_shape(path) == read_image(path).shape[:2] == ((20, 30) if orientation < 5 else (30, 20))


def test_pictures_are_written_whole(tmp_path):
    picture = smooth_picture((20, 30))
    write_image(tmp_path / "a.png", picture)
    write_image(tmp_path / "a.jpg", picture)
    write_image(tmp_path / "grey.png", picture[..., 0])
    np.testing.assert_array_equal(read_image(tmp_path / "a.png"), picture)
    assert np.abs(read_image(tmp_path / "a.jpg").astype(int) - picture).mean() < 5
    np.testing.assert_array_equal(np.asarray(Image.open(tmp_path / "grey.png")), picture[..., 0])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.jpg", "a.png", "grey.png"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
def test_a_pipe_is_no_picture(tmp_path):
    os.mkfifo(tmp_path / "a.png")
    for read in (read_image, image_shape, lambda path: read_labels(path, CLASSES)):
        with pytest.raises(ValueError, match=r"a\.png must be a regular file"):
            read(tmp_path / "a.png")


def test_regions_are_numbers_or_colours(tmp_path):
    numbers = np.array([[0, 1, 300], [300, 65535, 1]])
    Image.fromarray(numbers.astype(np.uint16)).save(tmp_path / "deep.png")
    np.save(tmp_path / "array.npy", numbers.astype(np.int32))
    for name in ("deep.png", "array.npy"):
        np.testing.assert_array_equal(read_regions(tmp_path / name), numbers)
    colours = np.stack([numbers // 256, numbers % 256, numbers % 2], axis=-1).astype(np.uint8)
    Image.fromarray(colours).save(tmp_path / "colours.png")
    found = read_regions(tmp_path / "colours.png")
    assert len(np.unique(found)) == 4
    assert (found[0, 1], found[0, 2]) == (found[1, 2], found[1, 0])


def test_what_is_no_map_of_regions_is_refused(tmp_path):
    np.save(tmp_path / "float.npy", np.zeros((2, 2)))
    np.save(tmp_path / "object.npy", np.array([{}]), allow_pickle=True)
    (tmp_path / "torn.npy").write_bytes(b"\x93NUMPY")
    Image.new("RGB", (4, 4)).save(tmp_path / "lossy.jpg")
    for name in ("float.npy", "object.npy", "torn.npy", "lossy.jpg"):
        with pytest.raises(ValueError, match=name):
            read_regions(tmp_path / name)
