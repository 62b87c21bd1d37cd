"""TIFF files of several pages, many channels and deep colours, whole and damaged."""

import struct
import sys

import numpy as np
import pytest

from neuralfactors.datasets import read_image
from neuralfactors.datasets._images import count_pages, image_shape, is_stack
from neuralfactors.datasets._tiff import read_stack, stack_shape

tifffile = pytest.importorskip("tifffile")
RNG = np.random.default_rng(0)


def numbers(*shape, dtype=np.uint16):
    return RNG.integers(0, 250, shape).astype(dtype)


GREY = {"photometric": "minisblack"}
KINDS = {  # the array, how it is written, and pages, height, width and channels of it
    "pages of grey": (numbers(4, 8, 9, dtype=np.uint8), GREY, (4, 8, 9, 1)),
    "deep RGB": (numbers(8, 9, 3), {"photometric": "rgb"}, (1, 8, 9, 3)),
    "deep RGB, packed": (numbers(8, 9, 3), {"photometric": "rgb", "compression": "zlib"}, (1, 8, 9, 3)),
    "five floats a pixel": (numbers(8, 9, 5, dtype=np.float32), {**GREY, "planarconfig": "contig"}, (1, 8, 9, 5)),
    "planes": (numbers(2, 8, 9, dtype=np.uint8), {**GREY, "planarconfig": "separate"}, (1, 8, 9, 2)),
    "RGB and infrared": (numbers(8, 9, 4, dtype=np.uint8), {"photometric": "rgb", "extrasamples": [0]}, (1, 8, 9, 4)),
    "ImageJ": (numbers(3, 2, 8, 9), {"imagej": True, "metadata": {"axes": "ZCYX"}}, (3, 8, 9, 2)),
    "OME": (numbers(2, 8, 9), {"ome": True, "metadata": {"axes": "CYX"}}, (1, 8, 9, 2)),
}


@pytest.mark.parametrize(("array", "options", "expected"), KINDS.values(), ids=KINDS)
def test_pages_and_channels(tmp_path, array, options, expected):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, array, **options)
    assert is_stack(path)
    assert tuple(stack_shape(path)) == expected
    assert image_shape(path) == expected[1:3]
    assert count_pages(path) == expected[0]
    found = read_stack(path)
    assert found.dtype == array.dtype
    rows = array if array.shape[-2:] != expected[1:3] else np.moveaxis(array.reshape(*expected[:1], -1, 8, 9), 1, 3)
    np.testing.assert_array_equal(found, rows.reshape(expected))


def test_pages_are_never_dropped_without_a_word(tmp_path):
    array = numbers(4, 8, 9, dtype=np.uint8)
    tifffile.imwrite(tmp_path / "a.tif", array, **GREY)
    with pytest.raises(ValueError, match=r"a.tif has 4 pages: say by pages \(--pages\) whether they are channels"):
        read_image(tmp_path / "a.tif")
    np.testing.assert_array_equal(read_image(tmp_path / "a.tif", pages="channels"), np.moveaxis(array, 0, 2))
    page = read_image(tmp_path / "a.tif", pages=2)
    np.testing.assert_array_equal(page, np.repeat(array[2][..., None], 3, axis=2))


def test_a_file_that_says_that_its_pages_are_channels_is_believed(tmp_path):
    array = numbers(2, 8, 9)
    tifffile.imwrite(tmp_path / "a.ome.tif", array, ome=True, metadata={"axes": "CYX"})
    np.testing.assert_array_equal(read_image(tmp_path / "a.ome.tif"), np.moveaxis(array, 0, 2))


def test_plain_files_are_left_to_pillow(tmp_path):
    tifffile.imwrite(tmp_path / "a.tif", numbers(8, 9, 3, dtype=np.uint8), photometric="rgb")
    tifffile.imwrite(tmp_path / "b.tif", numbers(8, 9), **GREY)
    assert not is_stack(tmp_path / "a.tif")
    assert not is_stack(tmp_path / "b.tif")
    assert read_image(tmp_path / "a.tif").dtype == np.uint8
    assert read_image(tmp_path / "b.tif").dtype == np.uint16


@pytest.mark.parametrize("kind", ["pages of grey", "deep RGB", "deep RGB, packed"])
@pytest.mark.parametrize("share", [0.0, 0.02, 0.5, 0.9])
def test_a_cut_file_is_refused_by_one_sentence(tmp_path, kind, share):
    array, options, _ = KINDS[kind]
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, np.repeat(np.repeat(array, 9, axis=-3 if array.ndim > 3 else 0), 9, axis=1), **options)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=r"a\.tif") as caught:
        read_image(path, pages="channels")
    assert "\n" not in str(caught.value)


def test_a_huge_header_is_refused_before_memory_is_taken(tmp_path):
    path = tmp_path / "a.tif"
    tifffile.imwrite(path, numbers(8, 9, 3), photometric="rgb")
    with tifffile.TiffFile(path) as file:
        places = [file.pages[0].tags[name].valueoffset for name in ("ImageWidth", "ImageLength")]
    content = bytearray(path.read_bytes())
    for place in places:
        content[place : place + 2] = struct.pack("<H", 65535)
    path.write_bytes(content)
    for function in (read_stack, stack_shape):
        with pytest.raises(ValueError, match=r"a\.tif could not be read as an image"):
            function(path)


def test_values_that_are_not_finite_are_refused(tmp_path):
    array = numbers(8, 9, 5, dtype=np.float32)
    array[0, 0, 0] = np.nan
    tifffile.imwrite(tmp_path / "a.tif", array, planarconfig="contig", **GREY)
    with pytest.raises(ValueError, match=r"a\.tif contains numbers that are not finite"):
        read_image(tmp_path / "a.tif")


def test_the_package_is_named_where_it_is_missing(tmp_path, monkeypatch):
    tifffile.imwrite(tmp_path / "a.tif", numbers(4, 8, 9), **GREY)
    monkeypatch.setitem(sys.modules, "tifffile", None)
    with pytest.raises(ImportError, match=r"needs the package tifffile: pip install 'neuralfactors\[tiff\]'"):
        read_image(tmp_path / "a.tif", pages=1)


def test_an_absent_file(tmp_path):
    with pytest.raises(ValueError, match=r"a\.tif does not exist"):
        read_image(tmp_path / "a.tif")


def write_mixed(path):
    with tifffile.TiffWriter(path) as file:
        file.write(numbers(8, 9, dtype=np.uint8), **GREY)
        file.write(numbers(5, 4), **GREY)


def write_complex(path):
    tifffile.imwrite(path, numbers(8, 9, dtype=np.uint8).astype(np.complex64), **GREY)


def cut_short(path):
    tifffile.imwrite(path, numbers(4, 80, 90, dtype=np.uint16), **GREY, metadata=None)
    path.write_bytes(path.read_bytes()[:-9000])


@pytest.mark.parametrize(
    ("write", "message"),
    [
        (write_mixed, "it contains 2 pictures of different kinds"),
        (write_complex, "its values are complex64, not numbers of a picture"),
        (cut_short, "its pages lie beyond its end"),
    ],
)
def test_what_is_no_picture_is_refused(tmp_path, write, message):
    write(tmp_path / "a.tif")
    with pytest.raises(ValueError, match=rf"a\.tif could not be read as an image: {message}"):
        read_image(tmp_path / "a.tif", pages="channels")
