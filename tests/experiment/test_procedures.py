"""The literal procedure: what it is made of, and that every variant learns by it."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from neuralfactors._experiment import PRESETS, Preset, procedure_called, train
from neuralfactors._experiment.data import feature_settings
from neuralfactors._experiment.models import build_model, check_settings, named_stages, targets_of
from neuralfactors._runs import TABLED, RunConfig, RunFolder, Splits
from neuralfactors.segmentation._targets import Targets

LITERAL = procedure_called("literal")
PAGE = Path(__file__).parents[2] / "docs/literal.md"
DESCENDED = [name for name in TABLED if name not in ("unary", "CP")]


def literal(scenes, variants, **more):
    return RunConfig(
        str(scenes), variants, features={**LITERAL.features, "n_regions": 30}, parameters=LITERAL.parameters,
        procedure="literal", splits=Splits(test="test"), **more,
    )  # fmt: skip


@pytest.mark.parametrize("variant", DESCENDED)
def test_descent_is_as_the_paper_has_it(variant):
    config = literal("x", (variant,))
    for _, stage in named_stages(build_model(variant, config, 7, 276)):
        known = stage.plain_params()
        assert (known["batch_size"], known["trainer__optimizer"], known["trainer__schedule"]) == (
            None,
            "sgd",
            "inverse",
        )
        assert (known["trainer__keep"], known["trainer__pretrain"], known["trainer__averaging"]) == (
            "objective",
            0,
            None,
        )
    assert known["decoder__method"] == "alpha-expansion"
    settings = feature_settings(config)
    assert targets_of(config, variant) == Targets(1.0, "region", "majority")
    assert (settings.words.softness, settings.words.root, settings.standardise) == (0.0, False, False)


def test_activations_are_those_of_the_paper(monkeypatch):
    monkeypatch.setattr(Preset, "check", lambda *_: None)
    for name, deep in (("msrc21", "relu"), ("kitti", "relu"), ("siftflow", "tanh")):
        config = Preset.read(name).config("x", "bow", TABLED, procedure="literal")
        for variant, activation in (("int+nrl", "tanh"), ("3-layer", deep)):
            known = build_model(variant, config, 8, 100).plain_params()
            assert known["unary__activation"] == known["interaction__activation"] == activation
        assert not config.mirror


@pytest.mark.parametrize("name", PRESETS)
def test_presets_have_valid_settings_of_it(name, monkeypatch):
    monkeypatch.setattr(Preset, "check", lambda *_: None)
    preset = Preset.read(name)
    config = preset.config("x", "bow", TABLED, procedure="literal")
    check_settings(config)
    assert config.procedure == "literal"
    with pytest.raises(ValueError, match="the literal procedure is for bag-of-words features"):
        preset.config("x", "cnn", TABLED, procedure="literal")


def test_the_page_says_what_it_sets():
    said = dict(re.findall(r"`([a-z_0-9]+)=([^`]+)`", PAGE.read_text(encoding="utf-8").split("## What it leaves")[0]))
    config = Preset.read("kitti").literally("bow")
    known = {**LITERAL.parameters["*"], **config.options}
    assert len(said) >= 12
    assert {name: told(value) for name, value in said.items()} == {name: known[name] for name in said}


def told(value):
    """What is behind `--set NAME=`: JSON, or else a word."""
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return value


def test_every_variant_learns_by_it(scenes, tmp_path):
    short = {"max_iter": 15, "first__max_iter": 100}
    parameters = {name: {**changes, **(short if name == "*" else {})} for name, changes in LITERAL.parameters.items()}
    parameters["CP"] = {"max_iter": 15}
    config = replace(literal(scenes, TABLED), parameters=parameters)
    folder = RunFolder(train(config, tmp_path / "run"))
    for row in folder.rows():
        assert row.is_done
        objectives = [epoch.objective for epoch in row.history.read()]
        assert min(objectives) < objectives[0], row.variant
        assert row.metrics.read().n_images == 4


def test_unknown_procedures_are_refused():
    with pytest.raises(ValueError, match="procedure must be one of usual, literal, got 'fast'"):
        procedure_called("fast")
