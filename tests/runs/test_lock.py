"""One process at a time in a folder, however the one before it ended."""

import os
import signal
import subprocess
import sys

import pytest

from neuralfactors._runs.lock import alone_in

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot lock folders")

HOLD = """
import sys, time
from pathlib import Path
from neuralfactors._runs.lock import alone_in
with alone_in(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""
COUNT = """
import sys, time
from pathlib import Path
from neuralfactors._runs.lock import alone_in
folder, done = Path(sys.argv[1]), 0
while done < 20:
    try:
        with alone_in(folder):
            number = int((folder / "n").read_text())
            time.sleep(0.001)
            (folder / "n").write_text(str(number + 1))
            done += 1
    except ValueError as error:
        assert "another process" in str(error), error
        time.sleep(0.0005)
"""


def start(code, folder):
    words = [sys.executable, "-c", code, str(folder)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def refused(folder):
    """Whether the folder is locked, told in one sentence that names it."""
    told = ""
    try:
        with alone_in(folder):
            pass
    except ValueError as error:
        told = str(error)
    assert not told or (str(folder) in told and "\n" not in told)
    return bool(told)


@pytest.fixture
def holder(tmp_path):
    """A process that holds the lock of `tmp_path` until its input ends."""
    process = start(HOLD, tmp_path)
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait(timeout=240)
    for stream in (process.stdin, process.stdout):
        stream.close()


@pytest.mark.parametrize("end", [None, signal.SIGTERM, signal.SIGKILL])
def test_the_lock_goes_with_its_process(holder, tmp_path, end):
    assert refused(tmp_path)
    if end is None:
        holder.stdin.close()
    else:
        holder.send_signal(end)
    holder.wait(timeout=240)
    assert not refused(tmp_path)
    assert list(tmp_path.iterdir()) == []  # no file was left, nor made


def test_only_one_at_a_time_gets_in(tmp_path):
    (tmp_path / "n").write_text("0")
    processes = [start(COUNT, tmp_path) for _ in range(3)]
    codes = [process.wait(timeout=240) for process in processes]
    for process in processes:
        process.communicate()
    assert codes == [0, 0, 0]
    assert (tmp_path / "n").read_text() == "60"  # no turn was lost


def test_other_folders_stay_free(holder, tmp_path):
    for folder in (tmp_path / "inner", tmp_path.parent / f"{tmp_path.name}-beside"):
        with alone_in(folder):
            assert folder.is_dir()


def test_the_folder_by_another_name_is_the_same(holder, tmp_path):
    link = tmp_path.parent / f"{tmp_path.name}-link"
    link.symlink_to(tmp_path)
    assert refused(link)
    assert refused(tmp_path / ".." / tmp_path.name)


def test_not_twice_in_one_process_either(tmp_path):
    with alone_in(tmp_path):
        assert refused(tmp_path)
        assert refused(tmp_path)  # a refusal opens no door
    assert not refused(tmp_path)


def test_an_exception_gives_the_lock_back(tmp_path):
    with pytest.raises(ZeroDivisionError), alone_in(tmp_path):
        raise ZeroDivisionError
    assert not refused(tmp_path)


def test_locks_leave_no_open_files(tmp_path):
    def opened():
        return len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0

    before = opened()
    for _ in range(5):
        with alone_in(tmp_path):
            assert refused(tmp_path)
    assert opened() == before


def test_the_folder_is_made(tmp_path):
    with alone_in(tmp_path / "a" / "b"):
        assert (tmp_path / "a/b").is_dir()


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file"), alone_in(tmp_path / "file"):
        pass


def test_a_run_is_freed_of_what_killed_writers_left_and_a_strangers_folder_is_not(tmp_path):
    left = tmp_path / "rows" / "int+nrl" / ".row.json.0123abcd.nf-tmp"
    left.parent.mkdir(parents=True)
    left.touch()
    with alone_in(tmp_path):
        assert left.exists()
    (tmp_path / "run.json").touch()
    with alone_in(tmp_path):
        assert not left.exists()
