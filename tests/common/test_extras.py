"""Names that load when they are first used, and the sentence where a package is missing."""

import subprocess
import sys

import pytest

from neuralfactors import datasets
from neuralfactors._common.extras import lazy_names, needs


def test_names_load_when_they_are_used():
    find, names = lazy_names("json", {"decoder": ["JSONDecoder"], "no_such_module": ["gone"]})
    assert find("JSONDecoder").__name__ == "JSONDecoder"
    assert {"JSONDecoder", "gone", "dumps"} < set(names())
    with pytest.raises(AttributeError, match="module 'json' has no attribute 'slove'"):
        find("slove")


def test_the_sentence_names_the_package_and_the_command():
    with pytest.raises(ModuleNotFoundError) as told, needs("graph", "learn"):
        import no_such_package  # noqa: F401
    assert str(told.value) == "graph needs the package no_such_package: pip install 'neuralfactors[learn]'"
    assert told.value.name == "no_such_package"


def test_the_sentence_is_of_what_was_asked_for():
    """Who asks for segmentation shall not first be told to install what its graphs need."""
    with pytest.raises(ModuleNotFoundError) as told, needs("segmentation", "segment"), needs("graph", "learn"):
        import no_such_package  # noqa: F401
    assert str(told.value) == "segmentation needs the package no_such_package: pip install 'neuralfactors[segment]'"


def test_what_is_missing_of_our_own_is_no_missing_extra():
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'neuralfactors\.gone'"), needs("graph", "learn"):
        import neuralfactors.gone  # noqa: F401


def test_chains_need_nothing_that_reads_pictures():
    code = "import sys, neuralfactors.datasets._chains; print('PIL' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert result.stdout.strip() == "False"
    assert all(getattr(datasets, name) is not None for name in datasets.__all__)
    assert set(datasets.__all__) <= set(dir(datasets))
