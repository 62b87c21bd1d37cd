"""Names that load when they are first used, and the sentence where a package is missing."""

import subprocess
import sys

import pytest

from neuralfactors import datasets
from neuralfactors.extras import advice, is_ours, lazy_names


def test_names_load_when_they_are_used():
    find = lazy_names("json", {"JSONDecoder": "decoder", "gone": "no_such_module"}, {})
    assert find("JSONDecoder").__name__ == "JSONDecoder"
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'slove'"):
        find("slove")


def test_the_sentence_names_the_package_and_the_command():
    error = ModuleNotFoundError("No module named 'torch'", name="torch")
    assert advice("Graph", error, "learn") == "Graph needs the package torch: pip install 'neuralfactors[learn]'"
    assert not is_ours(error)
    assert is_ours(ModuleNotFoundError(name="neuralfactors.gone"))


def test_what_is_missing_of_our_own_is_no_missing_extra():
    with pytest.raises(ModuleNotFoundError, match=r"neuralfactors\.gone"):
        lazy_names("neuralfactors", {"name": "gone"}, {"gone": "learn"})("name")


def test_chains_need_nothing_that_reads_pictures():
    code = "import sys, neuralfactors.datasets.chains; print('PIL' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.strip() == "False"
    assert all(getattr(datasets, name) is not None for name in datasets.__all__)
    assert set(datasets.__all__) <= set(dir(datasets))
