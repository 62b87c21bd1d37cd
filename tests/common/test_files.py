"""Files that are there as a whole or not at all, and digests of them."""

import os

import pytest

from neuralfactors._common.files import (
    FileFormatError,
    file_digest,
    read_records,
    sealed,
    unsealed,
    write_atomically,
    write_records,
)


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_in_one_step(tmp_path, monkeypatch, durable):
    path = tmp_path / "file"
    write_atomically(path, b"old", durable=durable)

    def fail(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left") as caught:
        write_atomically(path, b"new", durable=durable)
    assert caught.value.filename == str(path)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]  # no half of the new one stays


def test_digests_go_by_content(tmp_path):
    for name, content in (("a", b"same"), ("b", b"same"), ("c", b"other")):
        (tmp_path / name).write_bytes(content)
    a, b, c = (file_digest(tmp_path / name) for name in "abc")
    assert a == b != c
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileFormatError, match="must be a regular file"):
        file_digest(tmp_path / "pipe")


def test_an_altered_document_is_noticed():
    body = sealed({"a": 1})
    assert unsealed(body, "it") == {"a": 1}
    with pytest.raises(FileFormatError, match="it has been altered: its digest differs"):
        unsealed({**body, "a": 2}, "it")
    with pytest.raises(FileFormatError, match="it must contain a JSON object, got list"):
        unsealed([], "it")


def test_records(tmp_path):
    path = tmp_path / "records"
    assert read_records(path) == []
    write_records(path, [{"n": 0}, {"n": 1}])
    assert read_records(path) == [{"n": 0}, {"n": 1}]
    path.write_bytes(path.read_bytes().replace(b'"n": 1', b'"n": 2'))
    with pytest.raises(FileFormatError, match=r"line 2 of .* has been altered"):
        read_records(path)
