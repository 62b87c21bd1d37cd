import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from commands import FAST
from PIL import Image

from neuralfactors.datasets import write_scenes

SERVER = Path(__file__).parents[1] / "cli_server.py"


@pytest.fixture(scope="session")
def server(tmp_path_factory):
    process = subprocess.Popen([sys.executable, str(SERVER)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    yield process
    process.stdin.close()
    process.wait(timeout=240)


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(scope="session")
def call(server, cache, tmp_path_factory):
    """A function that runs a command line and returns its exit code and what it wrote."""
    home = tmp_path_factory.mktemp("work")

    def run(*argv, max_bytes=None, cwd=home):
        request = {"argv": [str(word) for word in argv], "cwd": str(cwd), "max_bytes": max_bytes}
        server.stdin.write(json.dumps(request) + "\n")
        server.stdin.flush()
        return SimpleNamespace(**json.loads(server.stdout.readline()))

    return run


@pytest.fixture(scope="session")
def scenes(tmp_path_factory):
    return write_scenes(tmp_path_factory.mktemp("data") / "scenes", 12, shape=(48, 64))


@pytest.fixture
def copied_scenes(scenes, tmp_path):
    """Scenes of one's own, to be spoilt."""
    return write_scenes(tmp_path / "scenes", 12, shape=(48, 64))


@pytest.fixture(scope="session")
def trained(call, scenes, cache, tmp_path_factory):
    """A finished run."""
    out = tmp_path_factory.mktemp("runs") / "first"
    result = call("train", scenes, "--out", out, "--cache", cache, *FAST)
    assert result.code == 0, result.err
    return out


@pytest.fixture
def truncated(tmp_path):
    """A picture whose file ends too early."""
    path = tmp_path / "cut.jpg"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)).save(path)
    path.write_bytes(path.read_bytes()[:1500])
    return path
