"""Arrays in files, whole and damaged."""

import io
import os

import numpy as np
import pytest

from neuralfactors.datasets._arrays import read_array


def test_what_was_saved_is_read(tmp_path):
    array = np.arange(12, dtype=np.float16).reshape(3, 4)
    np.save(tmp_path / "a.npy", array)
    found = read_array(tmp_path / "a.npy")
    np.testing.assert_array_equal(found, array)
    found[:] = 0  # a copy: the file stays as it is
    np.testing.assert_array_equal(read_array(tmp_path / "a.npy"), array)


def header(shape, dtype="<f4"):
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": dtype, "fortran_order": False, "shape": shape})
    return stream.getvalue()


DAMAGED = {
    "a shape far beyond the file": header((10**6, 10**6, 3)) + b"\0" * 8,
    "a shape beyond all numbers": header((2**62, 8)),
    "a file that ends too early": header((4, 4)) + b"\0" * 63,
    "a file that ends in its header": header((4, 4))[:40],
    "an empty file": b"",
    "no array at all": b"not an array",
    "a header that is no dictionary": b"\x93NUMPY\x01\x00\x10\x00import os       ",
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_damage_is_refused_by_one_sentence(tmp_path, content):
    path = tmp_path / "a.npy"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="could not be read as an array") as caught:
        read_array(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_numbers_must_be_finite(tmp_path, value):
    np.save(tmp_path / "a.npy", np.array([0.0, value]))
    with pytest.raises(ValueError, match=r"a\.npy contains numbers that are not finite"):
        read_array(tmp_path / "a.npy")


def test_pickles_are_never_loaded(tmp_path):
    np.save(tmp_path / "a.npy", np.array([os.getcwd], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="could not be read as an array"):
        read_array(tmp_path / "a.npy")


def test_other_contents_are_refused(tmp_path):
    np.save(tmp_path / "text.npy", np.array(["a"]))
    with (tmp_path / "several.npy").open("wb") as file:
        np.savez(file, a=1)
    for name in ("text", "several"):
        with pytest.raises(ValueError, match="must contain one array of numbers"):
            read_array(tmp_path / f"{name}.npy")
    with pytest.raises(ValueError, match=r"absent.npy does not exist"):
        read_array(tmp_path / "absent.npy")
