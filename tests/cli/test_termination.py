"""What ends a run from outside leaves one that 'resume' continues."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest
from cli_server import same_bytes

from neuralfactors.files import sealed

OPTIONS = ("--regions", "30", "--epochs", "40", "--jobs", "1")


@pytest.fixture
def ended(scenes, cache, tmp_path):
    """A run that SIGTERM ended in the midst of training: its exit code, what it said, and its folder."""
    run = tmp_path / "cut"
    words = ["train", str(scenes), "--out", str(run), "--cache", str(cache), *OPTIONS]
    process = subprocess.Popen([sys.executable, "-m", "neuralfactors", *words], stderr=subprocess.PIPE, text=True)
    history, deadline = run / "rows/int+nrl/history.jsonl", time.monotonic() + 120
    while time.monotonic() < deadline and not (history.exists() and len(history.read_text().splitlines()) >= 2):
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    err = process.communicate(timeout=60)[1]
    return process.returncode, err, run


def test_sigterm_is_told_in_one_sentence_and_resumed_to_the_same_model(call, scenes, cache, tmp_path, ended):
    code, err, run = ended
    assert code == 130, err
    assert err.splitlines()[-1] == f"Interrupted: 'neuralfactors resume {run}' goes on."
    assert "Traceback" not in err
    assert json.loads((run / "rows/int+nrl/row.json").read_text())["status"] == "running"
    assert call("resume", run, "--jobs", "1", "--cache", cache).code == 0
    assert call("train", scenes, "--out", tmp_path / "whole", "--cache", cache, *OPTIONS).code == 0
    models = [path for folder in (run, tmp_path / "whole") for path in (folder / "rows/int+nrl").glob("*.safetensors")]
    assert same_bytes(*models)


def test_an_output_of_few_characters_is_no_error(trained, tmp_path):
    copy = tmp_path / "run"
    copy.mkdir()
    document = json.loads((trained / "run.json").read_text())
    document["settings"]["data"] = "a\udce4b → c"  # not UTF-8, and not Latin 1
    (copy / "run.json").write_text(json.dumps(sealed(document)))
    for encoding, data in (("utf-8", b"a\\udce4b \xe2\x86\x92 c"), ("latin-1", b"a\\udce4b \\u2192 c")):
        words = [sys.executable, "-m", "neuralfactors", "info", str(copy)]
        result = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding})
        assert (result.returncode, result.stderr) == (0, b"")
        assert data in result.stdout
        assert b"waiting" in result.stdout


def test_a_reader_that_has_had_enough_is_no_error(trained):
    words = [sys.executable, "-m", "neuralfactors", "info", str(trained), "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    process.stdout.close()
    assert process.stderr.read() == ""
    assert process.wait(timeout=60) == 0
