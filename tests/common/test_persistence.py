"""Files: what is written is read back; what is truncated, altered, newer or foreign is refused in one sentence."""

import hashlib
import json
import os
import signal
import subprocess
import sys
import time

import pytest
import torch

from neuralfactors._common.files import write_atomically
from neuralfactors._common.persistence import (
    FileFormatError,
    load_model,
    load_state,
    save_model,
    save_state,
)

TENSORS = {"a": torch.arange(6.0).reshape(2, 3), "b": torch.tensor([1, 2])}


def test_what_could_not_be_written_is_named_and_leaves_nothing(tmp_path):
    (tmp_path / "taken").mkdir()
    with pytest.raises(OSError, match="taken") as caught:
        write_atomically(tmp_path / "taken", b"content")
    assert caught.value.filename == str(tmp_path / "taken")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_model_comes_back(tmp_path):
    save_model(tmp_path / "m", {"name": "x", "C": 0.1}, TENSORS)
    document, tensors = load_model(tmp_path / "m")
    assert document["name"] == "x"
    assert document["C"] == 0.1
    assert all(torch.equal(tensors[name], TENSORS[name]) for name in TENSORS)


def test_replacing_a_model_leaves_one(tmp_path):
    for k in range(3):
        save_model(tmp_path, {"k": k}, {"a": torch.full((2,), float(k))})
        document, tensors = load_model(tmp_path)
        assert document["k"] == k
        assert tensors["a"].tolist() == [k, k]
    assert len(list(tmp_path.glob("*.safetensors"))) == 1


SAVE_OFTEN = """
import sys
import torch
from neuralfactors._common.persistence import save_model
for n in range(60):
    k = (n + int(sys.argv[2])) % 3
    save_model(sys.argv[1], {"k": k}, {"a": torch.full((2,), float(k))})
"""


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such locks")
def test_readers_beside_two_writers_of_the_same_models_always_find_a_whole_one(tmp_path):
    save_model(tmp_path, {"k": 0}, {"a": torch.zeros(2)})
    writers = [subprocess.Popen([sys.executable, "-c", SAVE_OFTEN, tmp_path, str(k)]) for k in range(2)]
    while any(writer.poll() is None for writer in writers):
        document, tensors = load_model(tmp_path)
        assert tensors["a"].tolist() == [document["k"]] * 2
    assert [writer.returncode for writer in writers] == [0, 0]
    load_model(tmp_path)
    assert len(list(tmp_path.iterdir())) == 2


def test_state_comes_back(tmp_path):
    save_state(tmp_path / "c", {"epoch": 3}, TENSORS)
    document, tensors = load_state(tmp_path / "c")
    assert document["epoch"] == 3
    assert torch.equal(tensors["a"], TENSORS["a"])


def test_missing_files(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no model\.json in"):
        load_model(tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no c in"):
        load_state(tmp_path / "c")


@pytest.mark.parametrize("keep", [0, 7, 40, -1])
@pytest.mark.parametrize("kind", ["json", "safetensors"])
def test_truncated_models_are_refused(tmp_path, kind, keep):
    save_model(tmp_path, {"C": 1.0}, TENSORS)
    [path] = tmp_path.glob(f"*.{kind}")
    data = path.read_bytes()
    path.write_bytes(data[:-2] if keep < 0 else data[:keep])
    with pytest.raises(FileFormatError, match=f"{path.name} is truncated or altered"):
        load_model(tmp_path)


def test_any_altered_byte_is_noticed(tmp_path):
    save_model(tmp_path, {"C": 1.0}, TENSORS)
    for path in list(tmp_path.iterdir()):
        whole = path.read_bytes()
        for place in range(0, len(whole) - 1, 17):
            other = bytearray(whole)
            other[place] = other[place] ^ 1
            path.write_bytes(bytes(other))
            with pytest.raises(FileFormatError):
                load_model(tmp_path)
        path.write_bytes(whole)
    load_model(tmp_path)


def test_truncated_or_altered_states_are_refused(tmp_path):
    path = tmp_path / "c"
    save_state(path, {"epoch": 3}, TENSORS)
    whole = path.read_bytes()
    for cut in (0, 5, 50, len(whole) - 1):
        path.write_bytes(whole[:cut])
        with pytest.raises(FileFormatError, match="c is"):
            load_state(path)
    for place in (len(whole) - 3, whole.index(b"epoch") + 10):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(FileFormatError):
            load_state(path)


def test_newer_and_foreign_files_are_refused(tmp_path):
    save_model(tmp_path, {}, TENSORS)
    body = json.loads((tmp_path / "model.json").read_text())
    (tmp_path / "model.json").write_text(json.dumps({**body, "version": 99}))
    with pytest.raises(FileFormatError, match="format version 99, but this version of neuralfactors reads 3"):
        load_model(tmp_path)
    (tmp_path / "model.json").write_text('{"weights": []}')
    with pytest.raises(FileFormatError, match="was not written by neuralfactors"):
        load_model(tmp_path)


def forge(folder, **changes):
    """Change `folder`'s document, and give it the digest that anyone can compute."""
    body = {**json.loads((folder / "model.json").read_text()), **changes}
    body.pop("document_sha256")
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    (folder / "model.json").write_text(json.dumps({**body, "document_sha256": digest}))


@pytest.mark.parametrize("key", ["tensors", "sha256"])
def test_a_document_names_no_file(tmp_path, key):
    (tmp_path / "mine").write_text("of value")
    folder = tmp_path / "model"
    for name in ("../mine", str(tmp_path / "mine"), None):
        save_model(folder, {}, TENSORS)
        forge(folder, **{key: name})
        if key == "sha256":
            with pytest.raises(FileFormatError, match=r"model\.json must contain the digest of its tensors"):
                load_model(folder)
        save_model(folder, {"k": 1}, {"a": torch.zeros(1)})
        assert (tmp_path / "mine").read_text() == "of value"
        assert load_model(folder)[0]["k"] == 1


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no named pipes")
@pytest.mark.parametrize("kind", ["json", "safetensors"])
@pytest.mark.parametrize("special", ["pipe", "device", "folder"])
def test_only_regular_files_are_read(tmp_path, kind, special):
    save_model(tmp_path, {}, TENSORS)
    [path] = tmp_path.glob(f"*.{kind}")
    path.unlink()
    {"pipe": os.mkfifo, "device": lambda link: link.symlink_to("/dev/zero"), "folder": os.mkdir}[special](path)
    with pytest.raises(FileFormatError, match=f"{path.name} must be a regular file"):
        load_model(tmp_path)
    with pytest.raises(FileFormatError, match=f"{path.name} must be a regular file"):
        load_state(path)


def test_loading_runs_no_code(tmp_path):
    save_model(tmp_path, {}, TENSORS)
    [path] = tmp_path.glob("*.safetensors")
    path.write_bytes(b"\x80\x04cos\nsystem\n(S'touch hacked'\ntR.")
    with pytest.raises(FileFormatError):
        load_model(tmp_path)
    assert not (tmp_path / "hacked").exists()


WRITER = """
import sys, torch
from neuralfactors._common.persistence import save_model
for k in range(10**9):
    save_model(sys.argv[1], {"k": k}, {"a": torch.full((1000,), float(k))})
"""


def test_killed_writer_leaves_a_whole_model(tmp_path):
    save_model(tmp_path, {"k": -1}, {"a": torch.full((1000,), -1.0)})
    seen = set()
    for pause in (0.0, 0.013, 0.029):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)])
        before = (tmp_path / "model.json").stat().st_mtime_ns
        deadline = time.monotonic() + 240
        while (tmp_path / "model.json").stat().st_mtime_ns == before and time.monotonic() < deadline:
            time.sleep(0.005)
        time.sleep(pause)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        document, tensors = load_model(tmp_path)
        assert (tensors["a"] == document["k"]).all()
        seen.add(document["k"])
    assert max(seen) >= 0
