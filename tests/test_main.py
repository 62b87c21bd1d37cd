"""`python -m neuralfactors`: the command line, or a sentence that says which extra brings it."""

import subprocess
import sys

import pytest

import neuralfactors

# Imports as they fail where a package is not installed.
WITHOUT = """
import sys
sys.modules[{missing!r}] = None
sys.argv = ["neuralfactors", *{words!r}]
from neuralfactors.__main__ import main
main()
"""


def python(*words):
    return subprocess.run([sys.executable, *words], capture_output=True, text=True, timeout=120)


def test_the_module_is_the_command_line():
    result = python("-m", "neuralfactors", "--version")
    assert (result.returncode, result.stdout.strip(), result.stderr) == (0, neuralfactors.__version__, "")


def test_a_missing_extra_is_one_sentence():
    result = python("-c", WITHOUT.format(missing="typer", words=["train", "photos"]))
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert "typer" in result.stderr
    assert "pip install 'neuralfactors[segment]'" in result.stderr


def test_a_missing_module_of_our_own_is_a_bug_and_looks_like_one():
    result = python("-c", WITHOUT.format(missing="neuralfactors._cli.solve", words=["--version"]))
    assert result.returncode == 1
    assert "Traceback" in result.stderr
    assert "pip install" not in result.stderr


@pytest.mark.parametrize("words", [["magic"], ["--magic"], ["train", "--magic"]])
def test_what_nobody_knows_is_a_usage_error(words):
    result = python("-m", "neuralfactors", *words)
    assert result.returncode == 2
    assert "magic" in result.stderr
    assert "Traceback" not in result.stderr
