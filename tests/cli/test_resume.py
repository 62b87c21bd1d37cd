"""resume: runs that Ctrl-C or SIGTERM ended go on to the same model."""

import json
import signal
import subprocess
import sys
import time

import pytest
from commands import same_bytes

OPTIONS = ("--regions", "30", "--epochs", "40", "--jobs", "1")


@pytest.fixture(scope="module")
def whole(call, scenes, cache, tmp_path_factory):
    """The folder of a run that nothing interrupted."""
    run = tmp_path_factory.mktemp("resume") / "whole"
    assert call("train", scenes, "--out", run, "--cache", cache, *OPTIONS).code == 0
    return run


def ended(run, scenes, cache, how):
    """Exit code and words of a run that the signal `how` ended in the midst of training."""
    words = ["train", str(scenes), "--out", str(run), "--cache", str(cache), *OPTIONS]
    process = subprocess.Popen([sys.executable, "-m", "neuralfactors", *words], stderr=subprocess.PIPE, text=True)
    history, deadline = run / "rows/int+nrl/history.jsonl", time.monotonic() + 240
    while time.monotonic() < deadline and not (history.exists() and len(history.read_text().splitlines()) >= 2):
        time.sleep(0.02)
    process.send_signal(how)
    err = process.communicate(timeout=240)[1]
    return process.returncode, err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_resumes_to_the_same_model(call, scenes, cache, tmp_path, whole, how):
    run = tmp_path / "cut"
    code, err = ended(run, scenes, cache, how)
    assert code == 130, err
    assert err.splitlines()[-1] == f"Interrupted. To continue: neuralfactors resume {run}"
    assert "Traceback" not in err
    assert json.loads((run / "rows/int+nrl/row.json").read_text())["status"] == "unfinished"
    assert call("resume", run, "--jobs", "1", "--cache", cache).code == 0
    models = [path for folder in (run, whole) for path in (folder / "rows/int+nrl").glob("*.safetensors")]
    assert same_bytes(*models)
    assert len((run / "rows/int+nrl/history.jsonl").read_text().splitlines()) == 40


def test_resume_of_a_finished_run_changes_nothing(call, trained):
    model = (trained / "rows/int+nrl/model.json").read_bytes()
    result = call("resume", trained, "--quiet")
    assert result.code == 0, result.err
    assert (trained / "rows/int+nrl/model.json").read_bytes() == model
