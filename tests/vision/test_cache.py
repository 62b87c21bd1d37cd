import logging

import numpy as np
import pytest

from neuralfactors.vision._cache import Cache, content_key

ARRAYS = {"a": np.arange(6.0).reshape(2, 3), "b": np.zeros((0, 2), dtype=np.int64)}


def test_what_is_put_is_got(tmp_path):
    cache = Cache(tmp_path / "new" / "folder")
    assert cache.get("ab12") is None
    assert cache.put("ab12", ARRAYS)
    found = cache.get("ab12")
    assert found.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "foreign"])
def test_a_damaged_entry_is_noticed_and_removed(tmp_path, caplog, damage):
    cache = Cache(tmp_path)
    cache.put("ab12", ARRAYS)
    data = bytearray(cache.path("ab12").read_bytes())
    if damage == "flip":
        data[-3] ^= 1
    cache.path("ab12").write_bytes({"cut": data[:-9], "flip": data, "empty": b"", "foreign": b"x" * 99}[damage])
    with caplog.at_level(logging.WARNING):
        assert cache.get("ab12") is None
    assert "is damaged and will be computed again" in caplog.text
    assert not cache.path("ab12").exists()


def test_a_disk_that_refuses_is_logged(tmp_path, caplog):
    (tmp_path / "file").write_text("")
    with caplog.at_level(logging.WARNING):
        assert not Cache(tmp_path / "file").put("ab12", ARRAYS)
    assert "could not write" in caplog.text


def test_keys_tell_contents_apart():
    array = np.arange(6, dtype=np.int32)
    different = [
        content_key(array),
        content_key(array + 1),
        content_key(array.reshape(2, 3)),
        content_key(array.astype(np.uint32)),
        content_key(array, array),
        content_key({"a": 1}),
        content_key({"a": 2}),
        content_key("a", "b"),
        content_key("ab"),
    ]
    assert len(set(different)) == len(different)
    assert content_key(np.asfortranarray(np.eye(3))) == content_key(np.eye(3))
    assert content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1})
