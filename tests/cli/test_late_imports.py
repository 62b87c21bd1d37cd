"""A module that is loaded late is the same module, and is loaded once."""

import importlib
import subprocess
import sys

import pytest

from neuralfactors._cli.late_imports import load_late

MODULE = """
import builtins
builtins.times_loaded = getattr(builtins, "times_loaded", 0) + 1
value = 3
"""


@pytest.fixture
def times_loaded(tmp_path, monkeypatch):
    """How often the module `seldom_used` has been run."""
    import builtins

    (tmp_path / "seldom_used.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(builtins, "times_loaded", 0, raising=False)
    yield lambda: builtins.times_loaded
    sys.modules.pop("seldom_used", None)


def test_use_loads_and_import_does_not(times_loaded):
    finders = list(sys.meta_path)
    load_late("seldom_used")
    module = importlib.import_module("seldom_used")
    assert times_loaded() == 0
    assert sys.meta_path == finders
    assert module.value == 3
    assert importlib.import_module("seldom_used").value == 3
    assert times_loaded() == 1


def test_what_is_loaded_stays(times_loaded):
    module = importlib.import_module("seldom_used")
    load_late("seldom_used")
    assert sys.modules["seldom_used"] is module
    assert times_loaded() == 1


def test_what_is_not_there_is_missed_by_who_imports_it():
    load_late("never_written")
    with pytest.raises(ModuleNotFoundError, match="never_written"):
        importlib.import_module("never_written")
    assert "never_written" not in sys.modules


def test_others_are_imported_as_ever(times_loaded):
    load_late("never_written")
    assert importlib.import_module("seldom_used").value == 3
    sys.meta_path.pop(0)


def test_distributions_work_late_as_well():
    code = (
        "from neuralfactors._cli.late_imports import load_late; load_late('scipy.stats');"
        "import sys, sklearn.base; assert 'scipy.stats._stats_py' not in sys.modules;"
        "import scipy.stats; print(scipy.stats.norm.cdf(0))"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert found.stdout.strip() == "0.5"
