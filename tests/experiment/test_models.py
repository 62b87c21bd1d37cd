"""From settings to estimators: built, tried, refused."""

import re
from dataclasses import replace

import pytest

from neuralfactors._common.files import FileFormatError
from neuralfactors._experiment import VARIANTS, resume, train
from neuralfactors._experiment.models import check_config, targets_of
from neuralfactors._runs import STATE_OF_THE_ART, TABLED, Run, RunConfig, RunFolder, Search


def test_balance_of_a_row_comes_from_the_nearest_setting():
    config = RunConfig("x", (*TABLED, STATE_OF_THE_ART), balance=0.2, parameters={"SGD": {"balance": 0.7}})
    rows = ("unary", "SGD", STATE_OF_THE_ART)
    assert [targets_of(config, row).balance for row in rows] == [0.2, 0.7, 1.0]
    common = replace(config, parameters={**config.parameters, "*": {"balance": 0.4}})
    assert [targets_of(common, row).balance for row in rows] == [0.4, 0.7, 0.4]
    silent = replace(config, balance=None)
    assert [targets_of(silent, row).balance for row in rows] == [None, 0.7, 1.0]


@pytest.mark.parametrize(
    ("row", "changes", "message"),
    [
        ("int+nrl", {"trainer__learning_rate": -1.0}, "'int+nrl' cannot be used: learning_rate must be positive"),
        ("SGD", {"first__trainer__optimizer": "magic"}, "'SGD' cannot be used: optimizer must be one of"),
        ("CP", {"C": 0}, "'CP' cannot be used: C must be positive"),
        (
            "int+lin",
            {"unary__dropout": 1.5},
            "'int+lin' cannot be used: dropout must be",
        ),
        ("unary", {"C": "much"}, "C of 'unary' must be a number, got 'much'"),
        ("SGD", {"interaction_C": "much"}, "interaction_C of 'SGD' must be a number, got 'much'"),
        ("SGD", {"C": None}, "C of 'SGD' must be a number, got None"),
        ("int+nrl", {"trainer__momentum": "auto"}, "trainer__momentum of 'int+nrl' must be a number, got 'auto'"),
        ("SGD", {"random_state": 3}, "has no parameter 'random_state'"),
        ("SGD", {"callbacks": "/tmp/x"}, "has no parameter 'callbacks'"),
        ("SGD", {"first__callbacks": "/tmp/x"}, "has no parameter 'first__callbacks'"),
        ("int+nrl", {"unary": "x"}, "has no parameter 'unary'"),
    ],
)
def test_settings_that_cannot_be_are_refused_before_any_work(row, changes, message, scenes, tmp_path):
    with pytest.raises(ValueError, match=re.escape(message)):
        train(RunConfig(str(scenes), (row,), parameters={row: changes}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_all_variants_pass_the_dry_run():
    for features in ("bow", "bow+cnn"):
        parameters = {"int+nrl": {"trainer__keep": "validation", "interaction_C": None, "class_weight": [1.0] * 21}}
        check_config(RunConfig("x", tuple(VARIANTS), features={"features": features}, parameters=parameters))


@pytest.mark.parametrize("changes", [{"features": {"x": 1}}, {"parameters": {"SGD": {"tensorboard": "/tmp/x"}}}])
@pytest.mark.parametrize("kind", ["train", "compare", "tune"])
def test_a_strangers_run_with_settings_that_nothing_knows_is_not_resumed(kind, changes, tmp_path):
    more = {"compare": {"seeds": (0,)}, "tune": {"search": Search()}}.get(kind, {})
    run = Run(RunConfig(str(tmp_path), ("SGD",), kind, **changes), {}, (), threads=1, versions={}, started="", **more)
    RunFolder(tmp_path).document.write(run)
    with pytest.raises(FileFormatError, match="contains a run that cannot be resumed: "):
        resume(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["run.json"]


def test_auto_may_be_given_wherever_the_estimators_take_it():
    names = ("C", "interaction_C", "batch_size", "max_iter", "trainer__learning_rate")
    parameters = {"int+nrl": dict.fromkeys((*names, "trainer__interaction_learning_rate"), "auto")}
    check_config(RunConfig("x", ("int+nrl",), parameters=parameters))
