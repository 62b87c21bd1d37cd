"""Files that are there as a whole or not at all, and digests of them."""

import os
import stat
import subprocess
import sys

import pytest

from neuralfactors._common.files import (
    FileFormatError,
    file_digest,
    read_records,
    sealed,
    sweep,
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


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such rights")
def test_rights_are_those_that_the_user_gives_new_files(tmp_path):
    before = os.umask(0o077)
    try:
        write_atomically(tmp_path / "file", b"mine")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600


@pytest.mark.skipif(not hasattr(os, "O_DIRECTORY"), reason="folders cannot be opened")
@pytest.mark.parametrize("durable", [False, True])
def test_a_power_cut_loses_neither_the_content_nor_the_name(tmp_path, monkeypatch, durable):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(stat.S_ISDIR(os.fstat(handle).st_mode)))
    write_atomically(tmp_path / "file", b"content", durable=durable)
    assert synced == ([False, True] if durable else [])


KILLED_WRITER = """
import os, signal, sys
from pathlib import Path
from neuralfactors._common.files import write_atomically
replace = os.replace
def wait(*_):
    print("writing", flush=True)
    signal.pause()
os.replace = wait
write_atomically(Path(sys.argv[1]), b"half")
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such locks")
def test_only_the_temporary_files_of_killed_writers_are_swept(tmp_path):
    (tmp_path / "below").mkdir()
    (tmp_path / ".mine.tmp").touch()
    path = tmp_path / "below" / "file"
    with subprocess.Popen([sys.executable, "-c", KILLED_WRITER, path], stdout=subprocess.PIPE) as writer:
        writer.stdout.readline()
        sweep(tmp_path, below=True)
        left = len(list(path.parent.iterdir()))
        writer.kill()
    assert left == 1  # it could still be written
    sweep(tmp_path)
    assert len(list(path.parent.iterdir())) == 1
    sweep(tmp_path, below=True)
    assert not list(path.parent.iterdir())
    assert (tmp_path / ".mine.tmp").exists()


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
