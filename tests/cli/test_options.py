"""Options that commands share: what was given, where features are kept, and how a run goes on after Ctrl-C."""

import shlex
import sys

import pytest

from neuralfactors._cli.options import begin, changes, command_line, feature_options, resumable
from neuralfactors._cli.terminal import Interrupted, sentence
from neuralfactors._runs import Run, RunConfig, RunFolder


def test_only_what_was_given_is_passed_on():
    assert feature_options("bow", None, None) == {"features": "bow"}
    assert feature_options("cnn", None, None, 3) == {"features": "cnn", "cnn__finetune": 3}
    assert feature_options("bow+cnn", "50", "timm:x") == {"features": "bow+cnn", "n_regions": 50, "backbone": "timm:x"}


@pytest.mark.parametrize("regions", ["0", "-3", "many", "2.5", ""])
def test_regions_are_a_number_or_auto(regions):
    assert feature_options("bow", "auto", None) == {"features": "bow", "n_regions": 0}
    with pytest.raises(ValueError, match=f"regions must be a number of at least 1, or auto, got '{regions}'"):
        feature_options("bow", regions, None)


def test_what_is_set_goes_to_features_or_to_parameters():
    given = ["words__softness=0", "trainer__optimizer=sgd", "batch_size=null", "cost=pixel", "unary__hidden=[8, 4]"]
    of_model = {"trainer__optimizer": "sgd", "batch_size": None, "cost": "pixel", "unary__hidden": [8, 4]}
    assert changes(given) == ({"words__softness": 0}, of_model)
    assert changes(None) == ({}, {})
    assert changes(["C=3"], C=4, max_iter=None) == ({}, {"C": 4})
    with pytest.raises(ValueError, match="set must be NAME=VALUE, got 'mirror'"):
        changes(["mirror"])


def test_the_kind_of_features_is_no_option_to_set():
    with pytest.raises(ValueError, match="set cannot change features here, which are an option of their own"):
        begin("usual", ["features=cnn"])


def test_a_backbone_needs_cnn_features():
    with pytest.raises(ValueError, match=r"backbone .*CNN.*'bow'"):
        feature_options("bow", None, "efficientnet-lite0")


def test_the_command_line_can_be_typed_again(monkeypatch):
    words = ["train", "my photos", "--drop", "it's", "--out=-x"]
    monkeypatch.setattr(sys, "argv", ["/usr/bin/something", *words])
    assert shlex.split(command_line()) == ["neuralfactors", *words]


@pytest.mark.parametrize("begun", [True, False])
def test_an_interrupted_run_says_how_it_goes_on(tmp_path, begun):
    run = tmp_path / "a run"
    if begun:
        config = RunConfig("data", ("unary",))
        RunFolder(run).document.write(Run(config, {}, (), threads=1, versions={}, started=""))
    with pytest.raises(Interrupted) as caught, resumable(run):
        raise KeyboardInterrupt
    assert ("resume" in str(caught.value)) == begun
    if begun:
        words = shlex.split(str(caught.value).removeprefix("Interrupted. To continue: "))
        assert words == ["neuralfactors", "resume", str(run)]


def test_other_errors_pass(tmp_path):
    with pytest.raises(ZeroDivisionError), resumable(tmp_path):
        raise ZeroDivisionError


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ValueError("two\nlines  of it"), "two lines of it"),
        (ValueError(), "ValueError"),
        (FileNotFoundError(2, "No such file or directory", "a.png"), "a.png: No such file or directory"),
        (OSError(28, "No space left on device"), "No space left on device"),
        (OSError("nothing but words"), "nothing but words"),
    ],
)
def test_errors_are_one_line(error, told):
    assert sentence(error) == told


def test_errors_say_what_to_do():
    assert "memory" in sentence(MemoryError())
    assert "pip install" in sentence(ModuleNotFoundError("No module named 'jinja2'", name="jinja2"))
