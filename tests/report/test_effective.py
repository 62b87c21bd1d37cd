"""Settings in words: how a row is trained, and what a table shows of it."""

import pytest

from neuralfactors._experiment.models import build_model, named_stages
from neuralfactors._experiment.procedures import procedure_called
from neuralfactors._report.effective import shown, trained_by
from neuralfactors._runs import TABLED, RunConfig

LITERAL = procedure_called("literal")
TARGETS = {"balance": 0.5, "cost": "area", "region_label": "majority"}


def stages_of(variant, config):
    stages = named_stages(build_model(variant, config, 7, 276))
    return {name: {"class": type(stage).__name__, **stage.plain_params()} for name, stage in stages}


@pytest.mark.parametrize(
    ("variant", "usual", "literal"),
    [
        ("SGD", "Adam, 12 images a step", "subgradients, all images a step"),
        ("int+nrl", "Adam, 12 images a step", "subgradients, all images a step"),
        ("CP", "cutting planes", "cutting planes"),
    ],
)
def test_how_rows_are_trained(variant, usual, literal):
    assert trained_by(stages_of(variant, RunConfig("x", TABLED))) == usual
    assert trained_by(stages_of(variant, RunConfig("x", TABLED, parameters=LITERAL.parameters))) == literal


def test_a_table_shows_what_was_used():
    found = shown(stages_of("bif+nrl", RunConfig("x", TABLED, parameters=LITERAL.parameters)), TARGETS)
    assert found["hidden units"] == "linear / 512"
    assert found["schedule"].startswith("μ/(t₀ + t), t₀ = ")
    assert found["inference"] == "alpha-expansion"
    assert found["balance"] == "0.5"
    assert found["regression: trained by"] == "subgradients, all images a step"
    assert "regression: inference" not in found
    usual = shown(stages_of("int+nrl", RunConfig("x", TABLED)), TARGETS)
    assert usual["C (λ)"] == "100 / 100"  # where the interactions have none of their own, they share it
    assert usual["learning rate (μ)"] == "0.01 / 0.003"
    assert not any(name.startswith("regression") for name in usual)


def test_rows_without_settings_have_none():
    assert trained_by({}) == "–"
    assert shown({}, {}) == {"trained by": "–"}
