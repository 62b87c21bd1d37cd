"""What tests of commands share: options for small scenes, refusals, figures to compare, and a kill."""

import signal
import subprocess
import sys
import time

FAST = ("--regions", "30", "--epochs", "4", "--jobs", "1")  # options of `train` for small scenes
SMALL = ("--regions", "30", "--epochs", "2", "--jobs", "1", "--quiet")  # of `compare` and `tune`


def same_bytes(one, other):
    """Whether two files hold the same; of an assertion on the bytes, pytest would show the difference, for minutes."""
    return one.read_bytes() == other.read_bytes()


def refused(result, *words):
    """Whether a command ended with exit code 1 and one sentence that has all `words`."""
    assert result.code == 1, (result.code, result.out, result.err)
    lines = [line for line in result.err.splitlines() if line.startswith("Error:")]
    assert len(lines) == 1, result.err
    assert "Traceback" not in result.err
    for word in words:
        assert str(word) in lines[0], lines[0]
    return lines[0]


def without_times(value):
    """Figures without what two runs never share."""
    if isinstance(value, dict):
        return {key: without_times(each) for key, each in value.items() if "seconds" not in key}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def kill_when(condition, command):
    """Start `command` and kill it as soon as `condition` holds."""
    process = subprocess.Popen([sys.executable, "-m", "neuralfactors", *map(str, command)], stderr=subprocess.PIPE)
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline and not condition() and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=240)
    assert process.returncode == -signal.SIGKILL, "it ended before it could be killed"
