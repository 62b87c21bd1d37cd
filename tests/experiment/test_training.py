"""Runs: run folders, locks, resuming, and that context is learnt on the scenes."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from neuralfactors._experiment import Means, compare, resume, train, tune
from neuralfactors._runs import Run, RunConfig, RunFolder, Search, Splits
from neuralfactors._runs.lock import alone_in
from neuralfactors.datasets import ImageFolder, write_scenes
from neuralfactors.segmentation import Segmenter


def read(path):
    return json.loads(path.read_text())


@pytest.fixture(scope="module")
def scenes(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("scenes"), 60, shape=(60, 80))


@pytest.fixture(scope="module")
def config(scenes):
    small = {"unary__hidden": (32,), "interaction__hidden": (64,), "max_iter": 12, "trainer__learning_rate": 5e-3}
    linear = {"max_iter": 12, "trainer__learning_rate": 5e-3}
    parameters = {"SGD": linear, "int+nrl": small}
    return RunConfig(
        str(scenes), ("unary", "SGD", "int+nrl"), "demo", {"n_regions": 50}, parameters, splits=Splits(test="test")
    )


@pytest.fixture(scope="module")
def finished(config, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "run"
    return train(config, folder, Means(cache=folder.parent / "cache"), "a command")


def test_context_is_learnt(finished):
    figures = {row: read(finished / "rows" / row / "metrics.json") for row in ("unary", "SGD", "int+nrl")}
    assert figures["int+nrl"]["pixel"] > figures["unary"]["pixel"] + 0.1
    assert figures["int+nrl"]["class_mean"] > figures["unary"]["class_mean"] + 0.1
    assert figures["int+nrl"]["ablation"]["unary"]["pixel"] < figures["int+nrl"]["pixel"] - 0.1
    assert figures["unary"]["ablation"]["joint"]["pixel"] == figures["unary"]["pixel"]


def test_run_folder_is_complete(finished, scenes):
    document = read(finished / "run.json")
    assert document["splits"] == {"train": 36, "val": 12, "test": 12}
    assert document["command"] == "a command"
    assert document["finished"]
    examples = RunFolder(finished).examples.read().names
    assert len(examples) == 12
    truths = {sample.name: sample.read_labels() for sample in ImageFolder(scenes)["test"]}
    for row in ("unary", "SGD", "int+nrl"):
        place = finished / "rows" / row
        state = read(place / "row.json")
        assert state["status"] == "done"
        assert state["epochs"] == len((place / "history.jsonl").read_text().splitlines())
        right = total = 0
        for example in examples:
            predicted = np.asarray(Image.open(place / "predictions" / f"{example}.png"))
            truth = np.asarray(Image.open(finished / "examples" / f"{example}.png"))
            np.testing.assert_array_equal(truth, np.where(truths[example] < 0, 255, truths[example]))
            right += int((predicted == truth)[truth < 255].sum())
            total += int((truth < 255).sum())
        assert read(place / "metrics.json")["pixel"] == pytest.approx(right / total)
    assert RunFolder(finished).row("int+nrl").metrics.read().interactions.shape == (7, 7)
    assert RunFolder(finished).row("unary").metrics.read().interactions is None


def test_resume_trains_only_what_is_left(finished, config, tmp_path):
    kept = (finished / "rows/SGD/row.json").read_bytes()
    [before] = (finished / "rows/int+nrl").glob("*.safetensors")
    model = before.read_bytes()
    row = RunFolder(finished).row("int+nrl")
    row.row.write(replace(row.row.read(), status="unfinished"))
    assert [each.is_done for each in RunFolder(finished).rows()] == [True, True, False]
    resume(finished, Means(cache=finished.parent / "cache"))
    assert (finished / "rows/SGD/row.json").read_bytes() == kept
    assert RunFolder(finished).choose_row(None).variant == "int+nrl"
    [again] = (finished / "rows/int+nrl").glob("*.safetensors")
    assert again.read_bytes() == model


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot lock folders")
@pytest.mark.parametrize("kind", ["train", "compare", "tune"])
def test_a_folder_that_another_process_works_in_is_left_alone(kind, tmp_path):
    more = {"compare": {"seeds": (0,)}, "tune": {"search": Search()}}.get(kind, {})
    run = Run(RunConfig("", ("SGD",), kind), {}, (), threads=1, versions={}, started="", **more)
    RunFolder(tmp_path).document.write(run)
    with alone_in(tmp_path), pytest.raises(ValueError, match="in use by another process"):
        resume(tmp_path)
    with alone_in(tmp_path):  # no lock is left
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


STARTS = {
    "train": ("training", train),
    "compare": ("comparison", lambda config, out: compare(config, [0], out)),
    "tune": ("tuning.search", lambda config, out: tune(config, Search(2, ("C",)), out)),
}


@pytest.mark.skipif(sys.platform == "win32", reason="Windows cannot lock folders")
@pytest.mark.parametrize("running", [True, False])
@pytest.mark.parametrize("kind", STARTS)
def test_a_run_that_another_process_begins_meanwhile_is_left_alone(
    kind, running, finished, scenes, tmp_path, monkeypatch
):
    """It begins after this one has seen an empty folder; whether it is still `running` or not."""
    module, start = STARTS[kind]
    out, other = tmp_path / "run", (finished / "run.json").read_bytes()

    def begin(_):
        out.mkdir(exist_ok=True)
        (out / "run.json").write_bytes(other)

    monkeypatch.setattr(sys.modules[f"neuralfactors._experiment.{module}"], "check_config", begin)
    config = RunConfig(str(scenes), ("unary",), features={"n_regions": 10}, parameters={"*": {"max_iter": 1}})
    out.mkdir()
    message = "in use by another process" if running else "already contains a run|contains a run with other settings"
    with alone_in(out) if running else nullcontext(), pytest.raises((ValueError, FileExistsError), match=message):
        start(config, out)
    assert [path.name for path in out.iterdir()] == ["run.json"]
    assert (out / "run.json").read_bytes() == other


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    yield torch.set_num_threads
    torch.set_num_threads(before)


def test_a_run_keeps_the_number_of_threads_it_began_with(config, tmp_path, threads):
    threads(1)
    folder = train(replace(config, variants=("int+nrl",)), tmp_path / "run")
    row = RunFolder(folder).row("int+nrl")
    [before] = [path.read_bytes() for path in row.path.glob("*.safetensors")]
    row.row.write(replace(row.row.read(), status="unfinished"))
    threads(2)
    resume(folder)
    assert torch.get_num_threads() == 2
    same = [path.read_bytes() for path in row.path.glob("*.safetensors")] == [before]
    assert same  # of the bytes themselves, pytest would show the difference, for minutes


@pytest.mark.parametrize("change", ["classes", "images", "splits"])
@pytest.mark.parametrize("kind", ["train", "compare", "tune"])
def test_a_run_does_not_go_on_with_other_data(kind, change, tmp_path):
    data = write_scenes(tmp_path / "data", 10, shape=(30, 40))
    if change == "images":
        shutil.rmtree(data / "splits")
    config = RunConfig(str(data), ("unary",), features={"n_regions": 10}, parameters={"*": {"max_iter": 1}})
    out = tmp_path / "run"
    if kind == "train":
        train(config, out)
    elif kind == "compare":
        compare(config, [0], out)
    else:
        tune(config, Search(2, ("C",)), out)
        (out / "trials.jsonl").unlink()
    place = out / "seed-0" if kind == "compare" else out
    for folder in (RunFolder(out), RunFolder(place)):
        folder.document.write(replace(folder.run(), finished=None))
    if kind != "tune":
        shutil.rmtree(place / "rows/unary")
    if change == "classes":
        lines = (data / "classes.txt").read_text().splitlines()
        (data / "classes.txt").write_text("\n".join(reversed(lines)))  # their order numbers the labels
    elif change == "images":
        for part in ("images", "labels"):
            next((data / part).glob("scene_0004*")).unlink()
    else:
        (data / "splits/train.txt").write_text("scene_0000\nscene_0001\n")
    with pytest.raises(ValueError, match="have changed since the run began"):
        resume(out)


def test_saved_row_is_a_segmenter(finished, scenes):
    segmenter = Segmenter.load(finished / "rows/SGD", features=finished / "features")
    sample = ImageFolder(scenes)["test"][0]
    predicted = np.asarray(Image.open(finished / "rows/SGD/predictions" / f"{sample.name}.png"))
    np.testing.assert_array_equal(segmenter.predict_one(sample.image_path), predicted)


RANKS = """
import sys
import torch
torch.set_num_threads(1)
from neuralfactors._experiment import Means, compare
from neuralfactors._runs import RunConfig
scenes, out, cache = sys.argv[1:]
# In double precision, for a label that rounding flips would be a difference of its own.
changes = {"max_iter": 6, "batch_size": 4, "trainer__dtype": "float64", "decoder__n_threads": 1}
config = RunConfig(scenes, ("CP", "int+lin"), features={"n_regions": 30}, parameters={
    "CP": {"max_iter": 2}, "int+lin": changes})
compare(config, [0], out, Means(cache))
"""


def start_ranks(folder, *arguments, n):
    (folder / "compare.py").write_text(RANKS)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(n)] if n > 1 else []
    words = [sys.executable, *launcher, str(folder / "compare.py"), *map(str, arguments)]
    return subprocess.Popen(words, stderr=subprocess.PIPE, text=True)


def second_rank(launcher):
    """The process that torchrun has made the second rank."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it may have ended
            parent = int((place / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == launcher.pid and b"\0RANK=1\0" in (place / "environ").read_bytes():
                return int(place.name)
    raise AssertionError("there is no second rank")


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the system does not list processes in /proc")
def test_two_ranks_one_of_them_killed_and_resumed_learn_what_one_process_learns(scenes, tmp_path):
    alone = start_ranks(tmp_path, scenes, tmp_path / "one", tmp_path / "cache", n=1)
    assert alone.wait(240) == 0, alone.stderr.read()
    history = RunFolder(tmp_path / "two").seed(0).row("int+lin").history
    launcher = start_ranks(tmp_path, scenes, tmp_path / "two", tmp_path / "cache", n=2)
    while not history.path.exists():
        assert launcher.poll() is None, launcher.stderr.read()
        time.sleep(0.01)
    os.kill(second_rank(launcher), signal.SIGKILL)
    assert launcher.wait(240) != 0
    assert "another rank has ended or cannot be reached" in launcher.stderr.read()
    for _ in range(3):  # on a busy machine torch now and then aborts when a finished rank exits
        launcher = start_ranks(tmp_path, scenes, tmp_path / "two", tmp_path / "cache", n=2)
        if launcher.wait(240) == 0:
            break
    assert launcher.returncode == 0, launcher.stderr.read()
    found, expected = (RunFolder(tmp_path / name).seed(0).row("int+lin") for name in ("two", "one"))
    for a, b in zip(found.history.read(), expected.history.read(), strict=True):
        assert a.objective == pytest.approx(b.objective, rel=1e-9)
        assert a.accuracy == pytest.approx(b.accuracy, rel=1e-12)
    assert found.metrics.read().pixel == expected.metrics.read().pixel
    assert RunFolder(tmp_path / "two").run().finished
