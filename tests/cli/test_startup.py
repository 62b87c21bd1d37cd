"""Commands that only read a run folder do not wait for the libraries that train and predict."""

import json
import os
import subprocess
import sys

import pytest

from neuralfactors.datasets import write_scenes

HEAVY = ("torch", "sklearn", "scipy")
CODE = """
import json, sys
from neuralfactors._cli import main
sys.argv = ["neuralfactors", *json.loads(sys.argv[1])]
try:
    main()
finally:
    print("\\n" + json.dumps(sorted(sys.modules)))
"""


def modules_of(*words):
    """What a command has imported when it ends."""
    command = [sys.executable, "-c", CODE, json.dumps([os.fspath(word) for word in words])]
    result = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert result.returncode == 0, result.stderr
    return set(json.loads(result.stdout.splitlines()[-1]))


def modules_with(line):
    """What is there after a line of imports."""
    code = f"import json, sys; {line}; print(json.dumps(sorted(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    return set(json.loads(result.stdout))


@pytest.fixture(scope="module")
def folders(call, cache, trained, tmp_path_factory):
    """A run, a comparison and a search."""
    place = tmp_path_factory.mktemp("startup")
    data, options = write_scenes(place / "scenes", 8, shape=(30, 40)), ("--cache", cache, "--epochs", "1", "--quiet")
    small = (*options, "--regions", "10", "--jobs", "1")
    for command, *more in (("compare", "--variants", "unary"), ("tune", "--variant", "unary", "--trials", "2")):
        result = call(command, data, "--out", place / command, *more, *small)
        assert result.code == 0, result.err
    return {"train": trained, "compare": place / "compare", "tune": place / "tune"}


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["train", "--help"], ["predict", "--help"]])
def test_help_imports_nothing_heavy(words):
    assert not modules_of(*words) & {*HEAVY, "PIL", "jinja2"}


@pytest.mark.parametrize("more", [[], ["--json"]])
@pytest.mark.parametrize("kind", ["train", "compare", "tune"])
def test_info_imports_nothing_heavy(folders, kind, more):
    assert not modules_of("info", folders[kind], *more) & set(HEAVY)


@pytest.mark.parametrize("kind", ["train", "compare"])
def test_report_imports_nothing_heavy(folders, kind):
    assert not modules_of("report", folders[kind]) & set(HEAVY)


def test_predict_imports_only_what_it_needs(trained, scenes, tmp_path):
    found = modules_of("predict", trained, scenes / "images/scene_0000.png", "--out", tmp_path)
    assert "torch" in found
    assert not found & {
        "neuralfactors._experiment",
        "neuralfactors._report",
        "rich.progress",
        "scipy.io",
        "scipy.stats._stats_py",
        "sympy",
        "dask",
    }
    assert {name for name in found if name.startswith("sklearn.")} <= modules_with("import sklearn.base")
    assert len(found - modules_with("import torch, sklearn.base")) < 450  # of ours, of typer, of Pillow
