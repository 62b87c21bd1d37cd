"""The examples in docstrings and in the README do what they show."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import neuralfactors

ROOT = Path(__file__).parents[1]
MODULES = sorted(module.name for module in pkgutil.walk_packages(neuralfactors.__path__, "neuralfactors."))


@pytest.mark.parametrize("name", [name for name in MODULES if not name.rpartition(".")[2].startswith("_")])
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_readme():
    results = doctest.testfile(str(ROOT / "README.md"), module_relative=False, encoding="utf-8")
    assert results.attempted > 0
    assert results.failed == 0
