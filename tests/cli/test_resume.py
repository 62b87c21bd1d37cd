"""resume: runs that Ctrl-C or SIGTERM ended go on to the same model."""

import json
import signal
import subprocess
import sys
import time

import pytest
from commands import same_bytes

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


def test_resume_of_a_finished_run_changes_nothing(call, trained):
    model = (trained / "rows/int+nrl/model.json").read_bytes()
    result = call("resume", trained, "--quiet")
    assert result.code == 0, result.err
    assert (trained / "rows/int+nrl/model.json").read_bytes() == model


def test_interrupted_run_resumes_to_the_same_model(call, scenes, cache, tmp_path):
    options = ("--regions", "30", "--epochs", "40", "--jobs", "1", "--cache", str(cache))
    command = [sys.executable, "-m", "neuralfactors", "train", str(scenes), "--out", str(tmp_path / "cut"), *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    history = tmp_path / "cut/rows/int+nrl/history.jsonl"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and not (history.exists() and len(history.read_text().splitlines()) >= 2):
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    err = process.communicate(timeout=60)[1]
    assert process.returncode == 130, err
    assert f"neuralfactors resume {tmp_path / 'cut'}" in err
    assert "Traceback" not in err
    assert json.loads((tmp_path / "cut/rows/int+nrl/row.json").read_text())["status"] == "running"
    assert call("resume", tmp_path / "cut", "--jobs", "1", "--cache", cache).code == 0
    assert call("train", scenes, "--out", tmp_path / "whole", *options).code == 0
    models = [path for name in ("cut", "whole") for path in (tmp_path / name / "rows/int+nrl").glob("*.safetensors")]
    assert same_bytes(*models)
    assert len(history.read_text().splitlines()) == 40


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
