"""doctor: what a report of a bug needs."""

import json
import re
import sys
from importlib import metadata

import pytest
import torch

import neuralfactors
from neuralfactors._cli import doctor


def test_it_tells_the_versions_the_build_and_the_cache(call):
    out = call("doctor").out
    assert f"neuralfactors: {neuralfactors.__version__}\n" in out
    assert f"torch {torch.__version__}" in out
    assert re.search(r"^kernel: +(AVX2|baseline), compiled by (GCC|Clang|MSVC|Apple) ?[\d.]*", out, re.M)
    assert re.search(r"^cache: .*neuralfactors, (empty|\d+ MB in \d+ files)$", out, re.M)


def test_json_has_the_same_facts(call):
    found = json.loads(call("doctor", "--json").out)
    assert found["cores"] >= 1
    assert found["extras"]["learn"]["found"]["torch"] == torch.__version__
    assert not set(found["extras"]) & doctor.FOR_DEVELOPERS


def test_what_is_missing_is_told_with_the_command_that_installs_it(monkeypatch):
    lines = ['torch>=2; extra == "learn"', 'nowhere>=1.0 ; extra == "learn"', 'neuralfactors[learn]; extra == "plot"']
    monkeypatch.setattr(doctor, "requires", lambda _: lines)
    assert doctor.extra("learn").told == (
        f"torch {metadata.version('torch')}; missing nowhere: pip install 'neuralfactors[learn]'"
    )
    assert doctor.extra("plot").told == ""


def test_without_torch_no_gpu_is_promised(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    found = doctor.installation()
    assert (found.torch_threads, found.gpu) == (None, "unknown, since torch is not installed")


def test_an_empty_cache_and_files_that_vanish(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert doctor.installation().cache == f"{tmp_path / 'neuralfactors'}, empty"
    (tmp_path / "neuralfactors").mkdir()
    (tmp_path / "neuralfactors/a.bin").write_bytes(bytes(3_000_000))
    (tmp_path / "neuralfactors/gone.bin").symlink_to(tmp_path / "nowhere")
    assert doctor.installation().cache == f"{tmp_path / 'neuralfactors'}, 3 MB in 2 files"


@pytest.mark.parametrize("checked", [False, True])
def test_a_developers_build_says_so(checked, monkeypatch):
    monkeypatch.setattr("neuralfactors.inference._kernels.CHECKED", checked)
    assert ("developer" in doctor.installation().kernel) == checked
